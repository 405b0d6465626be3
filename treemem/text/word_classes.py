"""Lists English words by their part in a sentence, and generic nouns, for finding noun phrases.

Written for this project: closed classes are near complete, open ones hold what is common in talk
and in work with software. A word may be in one class only; a word that is as often a noun as a
verb ("plan", "test") is in none, and its neighbours decide.

Tested in tests/text/test_phrases.py.
"""

from __future__ import annotations

from treemem.text.counting import TENS, UNITS

# A noun phrase begins after one of these.
DETERMINERS = frozenset(
    "a an the this these those my your his her its our their some any each every no "
    "another both all many few several most more less much such other enough own which "
    "what whose either neither half next last first second third current same following "
    "previous hundred thousand million billion".split()
).union(UNITS[1:], TENS)
# What follows is mostly a noun. "to" is not here: a verb follows it as often.
PREPOSITIONS = frozenset(
    "of in on at by for with about from into onto over under between through during "
    "without within against among across after before behind beside besides near around "
    "along inside outside above below beyond despite toward towards upon via per "
    "regarding concerning versus off like unlike including than".split()
)
# A verb follows.
SUBJECTS = frozenset(
    "i you we they he she it who someone somebody everyone everybody nobody anyone "
    "anybody that there u y'all ya ye".split()
)
OBJECTS = frozenset(
    "me him them us myself yourself himself herself itself ourselves themselves mine "
    "yours ours theirs hers something anything nothing everything none others".split()
)
# Forms of "be": a noun stands before them.
BEING = frozenset("is are was were be been being am isn't aren't wasn't weren't ain't".split())
MODALS = frozenset(
    "will would can could should may might must shall do does did don't doesn't didn't "
    "won't wouldn't can't couldn't shouldn't cannot have has had haven't hasn't hadn't to "
    "let's let gonna wanna gotta need needs dont cant wont didnt doesnt please never "
    "always".split()
)
CONJUNCTIONS = frozenset(
    "and or but so because if when while where why how whether although though unless "
    "until since as nor yet once whereas wherever whenever whatever whichever plus etc".split()
)
# Adverbs, interjections, greetings, fillers.
ADVERBS = frozenset(
    "not very really just also too even still already ever now then here often sometimes "
    "maybe perhaps quite rather pretty almost again soon later today tomorrow yesterday "
    "tonight ago away back down up out on off together apart instead anyway however "
    "therefore thus hence otherwise else only well far long alone ahead forward forth "
    "aside indeed though somehow somewhere anywhere everywhere nowhere once twice yes "
    "yeah yep yup no nope nah ok okay oh ah uh um uhm hmm hm mm mmm mhm huh wow hey hi "
    "hello hiya bye goodbye thanks thank thx welcome sorry congrats congratulations lol "
    "haha hahaha omg ugh yay aw aww ooh whoa gosh dear sure right alright cool awesome "
    "great nice good fine absolutely definitely exactly totally actually basically "
    "certainly obviously probably usually likely especially particularly finally "
    "eventually meanwhile furthermore moreover additionally afterwards afterward till til "
    "kinda sorta sort kind bit lot lots ton tons bunch couple plenty hopefully overall "
    "similarly namely ie eg e.g i.e vs ve ll re nt don t s d m o'clock am pm cheers woah "
    "least nuh mah huh-uh step-by-step ha hooray ditto anymore online offline tho bout em "
    "eh er erm mhmm right-o".split()
)
# Words that are hardly ever nouns; other forms are added by _forms.
_VERBS = (
    "accept accomplish achieve add adjust admit adopt advise afford agree allow announce "
    "apologize appear apply appreciate arrange arrive assume attend avoid bake balance "
    "become begin believe belong bring build buy can't carry catch celebrate check choose "
    "clarify come compare complain complete confirm connect consider contain continue "
    "contribute convince cope create deal decide define delete deliver depend describe "
    "deserve determine develop die discover discuss divide do download drive earn eat "
    "edit embrace enable encourage enhance enjoy ensure enter establish examine execute "
    "exist expand expect explain explore express face fail fall feel fetch fight figure "
    "fill find finish fit fix fly focus follow forget gather generate get give go grab "
    "grow guess handle happen hate have hear hold hope identify ignore imagine implement "
    "import improve include increase indicate inform insert inspire install invite "
    "involve join keep know learn leave lend listen live look lose love maintain make "
    "manage match mean measure meet mention merge miss modify motivate move notice obtain "
    "offer open participate pay perform persist pick point practice pray prefer prepare "
    "prevent proceed produce protect provide prove publish pull push put react read "
    "realize receive recognize recommend reduce refactor refer reflect refuse relate "
    "relax rely remain remember remind remove rename render replace represent require "
    "resolve respond rewrite say see seek seem select sell send serve set share shape "
    "shut sing sit sleep solve speak specify spend spread stand start stay stick stop "
    "strengthen struggle submit succeed suggest suppose take talk teach tell tend thank "
    "think throw touch treat try turn understand update upload use utilize verify wait "
    "wake walk want watch wear win wish wonder work worry write ease incorporate address "
    "allocate assess optimize prioritize utilise organize analyse analyze summarize "
    "overcome demonstrate calculate emphasize facilitate initialize mind hang chat swap "
    "hit sound lead cover cause show help ask call care run close bet cheer reckon pop "
    "pour chop chuck stir sprinkle toss cook chill strive leverage navigate foster tackle "
    "elevate boost delve dive".split()
)
# A few of these are nouns as well, and stay candidates in their plain form.
_ALSO_NOUNS = frozenset(
    "work love hope talk walk show help practice deal drive fight focus look match "
    "measure notice offer point pull push share shape sleep start stop struggle touch "
    "treat turn update use watch wish care run call chat balance import download upload "
    "install cover cause lead sound address face figure fix mind move wait swap hit guess "
    "fit fall catch edit check live win read break worry spread boost dive set build "
    "merge insert publish render select".split()
)
_IRREGULAR_FORMS = frozenset(
    "went gone came became began begun brought built bought caught chose chosen ate eaten "
    "fell fallen felt fought found flew flown forgot forgotten got gotten gave given grew "
    "grown heard held kept knew known led learnt lent left lost made meant met paid put "
    "ran said saw seen sold sent sat slept spoke spoken spent stood stuck took taken "
    "taught told thought threw thrown understood woke woken wore worn won wrote written "
    "did done had been was were let cut hit set shut hurt cost drove driven drew drawn "
    "sang sung swam shown hung dealt dug broke broken froze frozen hid hidden laid lay "
    "lying rode ridden rose risen shook shaken sounds looks seems wants loves stole "
    "stolen swore tore torn gon ought used supposed based".split()
)
# Adjectives that say little: never the end of a phrase, and left off its beginning.
PLAIN_ADJECTIVES = frozenset(
    "invalid undefined unknown able amazing available bad beautiful best better big "
    "bigger biggest busy certain clear clearly close common complete correct crazy "
    "current cute different difficult early easier easiest easy empty entire exact "
    "excellent excited exciting extra fair fantastic fast favorite favourite final fresh "
    "full fun funny general glad good great grateful happy hard hardest helpful high "
    "higher highest huge important incredible initial inspiring interested interesting "
    "key kind large larger largest late latest little local long longer lovely low lower "
    "lucky main major meaningful minor mixed necessary new newer newest nice normal old "
    "older oldest only open original overall own particular perfect personal positive "
    "possible potential powerful previous proper proud quick quickly ready real recent "
    "regular related relevant right rough sad safe separate serious several sharp short "
    "similar simple simpler single slow small smaller smart special specific strong "
    "sudden super supportive sure sweet terrible thankful tiny tough true typical unable "
    "unique useful usual valid various weird whole wide wild wonderful worth wrong young "
    "younger awful awesome cool fine tired sick stressed worried alive aware deep deeper "
    "essential effective efficient creative additional further total actual multiple "
    "numerous detailed robust comprehensive crucial vital careful curious honest yummy "
    "delicious tasty gorgeous stunning adorable impressive memorable peaceful relaxing "
    "rewarding challenging tricky handy neat solid healthy popular free custom rural "
    "urban guilty cozy comfy lazy noisy messy scary silly thirsty hungry sleepy windy "
    "sunny rainy cloudy foggy pricey cheap expensive humble genuine sincere brave bold "
    "calm keen nervous afraid scared amused bored fellow outer inner upper outdoor indoor "
    "daily weekly monthly yearly annual significant professional multi corresponding "
    "permanent urgent pregnant conceptual passionate secure shorter trans intimate "
    "delicate moderate private former dry wet hot cold warm heavy light dark tight loose "
    "thick thin red green blue".split()
)
# Nouns that say nothing about the subject by themselves: never a phrase of one word, and never
# the end of one.
GENERIC_NOUNS = frozenset(
    "thing things stuff time times way ways lot lots people person kind kinds sort sorts "
    "day days week weeks weekend month months year years hour hours minute minutes second "
    "seconds moment moments morning afternoon evening night nights today tomorrow "
    "yesterday tonight monday tuesday wednesday thursday friday saturday sunday january "
    "february march april june july august september october november december part parts "
    "piece pieces bit one ones side sides place places area areas case cases point points "
    "fact reason reasons idea ideas example examples end beginning start rest half set "
    "group groups number numbers amount level type types form forms line lines step steps "
    "stage stages question questions answer answers problem problems issue issues matter "
    "matters word words name names guy guys man men woman folks everyone someone anyone "
    "something anything nothing everything none thanks thank luck fun sense help use need "
    "needs want look chance shot deal bet try turn move stop work job hand hands eye eyes "
    "head face back front top bottom left right middle corner space room world life lives "
    "mind heart soul feeling feelings experience experiences journey thought thoughts "
    "opinion respect regard terms detail details info information section option options "
    "choice choices result results change changes difference order list item items value "
    "values version versions content copy note notes hi hello yes no ok okay love hope "
    "pleasure kinda gonna yeah sir madam hmm course instance addition well approach "
    "aspect aspects factor factors purpose manner scenario scenarios situation situations "
    "circumstance circumstances context tip tips insight insights overview summary "
    "conclusion introduction bullet title heading explanation description suggestion "
    "suggestions recommendation recommendations advice feedback response responses reply "
    "request requests support effort efforts progress process processes goal goals impact "
    "benefit benefits focus ability importance variety range series total rate size "
    "length date dates period duration deadline schedule phase figure percent percentage "
    "dollar dollars euro euros cent cents buck bucks user users assistant human ai "
    "chatgpt claude gpt gemini model mhm uh um plus minus dude buddy pal mate honey "
    "friend friends kid kids pic pics photo photos picture pictures image images vibe "
    "vibes blast memory memories talk chat conversation message messages glimpse while "
    "sake midst past future present bunch couple ton tons plenty majority meeting thingy "
    "guess cause see wait yep ha oops sec mine yours input output min mins hrs secs am pm "
    "solution solutions method methods technique techniques tool tools feature features "
    "function functions file files code data project projects task tasks team teams plan "
    "plans resource resources strategy strategies element elements skill skills quality "
    "challenge challenges opportunity opportunities role roles implementation usage check "
    "checks fix fixes error errors bug bugs update updates comment comments".split()
)
# Of these, a phrase may end with those that a word before them makes specific ("support group",
# "milk project", "adoption process").
HEADS_OF_PHRASES = frozenset(
    "group groups job list process project projects plan plans tool tools team teams "
    "model file files code data function functions feature features schedule strategy "
    "meeting room area life world error errors bug update rate size date memory support "
    "option options version photo photos picture pictures image images message messages "
    "skills tasks task method role user users request requests response format feedback "
    "content value values challenge level type types order line day night weekend trip "
    "kids deadline summary".split()
)


def _forms(verb: str) -> set[str]:
    """A verb with its regular endings."""
    if verb.endswith("e"):
        return {verb, verb + "s", verb + "d", verb[:-1] + "ing"}
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return {verb, verb[:-1] + "ies", verb[:-1] + "ied", verb + "ing"}
    endings = {verb, verb + "s", verb + "ed", verb + "ing"}
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        endings.add(verb + "es")
    if verb[-1] not in "aeiouwxy" and verb[-2] in "aeiou":
        endings |= {verb + verb[-1] + "ing", verb + verb[-1] + "ed"}
    return endings


# The forms that are hardly ever nouns. Those in "ing" may be ("hiking"), so they are not here.
VERBS = frozenset(
    form
    for verb in _VERBS
    for form in _forms(verb)
    if not form.endswith("ing") and form not in {n + s for n in _ALSO_NOUNS for s in ("", "s")}
) | _IRREGULAR_FORMS  # fmt: skip
# Verbs that begin an order, such as "Update the list".
IMPERATIVES = frozenset(_VERBS)
# Their forms in "ing" but for common nouns: hardly ever a noun.
GERUNDS = frozenset(
    form for verb in _VERBS for form in _forms(verb) if form.endswith("ing")
) - frozenset(
    "writing painting drawing cooking building learning reading singing baking meaning "
    "opening meeting spelling setting gathering merging publishing rendering refactoring "
    "calling editing sharing lending flying teaching walking talking planning coping "
    "parsing".split()
)  # fmt: skip

# Nouns that many texts share. They count less, so that what is special to a text comes first.
FAINT_NOUNS = frozenset(
    "family families home house community communities joy nature passion kindness "
    "acceptance dream dreams education event events activity activities story stories "
    "encouragement happiness courage strength peace hobby hobbies dedication "
    "determination excitement gratitude success inspiration connection connections "
    "relationship relationships reminder comfort energy health food book books movie "
    "movies music game games trip trips business company companies website page pages "
    "system systems product products customer customers client clients service services "
    "application applications app apps improvement improvements performance security "
    "concept concepts understanding knowledge practice practices learning research study "
    "studies report reports document documents presentation presentations email emails "
    "phone number test tests testing script scripts command commands class classes object "
    "objects variable variables parameter parameters library libraries framework package "
    "packages server database validation handling integration configuration config setup "
    "requirement requirements documentation structure structures mechanism mechanisms "
    "calculation calculations formula equation equations model models state states source "
    "sources directory directories folder folders path paths repo repository branch "
    "button buttons field fields table tables column columns row rows key keys string "
    "strings date dates person sentence sentences phrase term meaning notion sum pair "
    "pairs top mile miles money price prices cost costs school college university city "
    "country park street car parents mother father mom dad mum sister brother son "
    "daughter wife husband child children baby girl girls boy boys woman women loved lady "
    "gentleman meal lunch dinner breakfast coffee tea water weather session sessions "
    "access account accounts action actions attention balance base break communication "
    "condition conditions control decision decisions design development discussion "
    "discussions effect effects environment environments exercise growth guidance history "
    "image language level management material materials media mood network opinion "
    "opinions organization organizations pattern patterns power pressure pride program "
    "programs risk risks safety sound sounds speed stress style technology theme themes "
    "topic topics training trend trends trust truth view views voice vision".split()
)
