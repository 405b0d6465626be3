"""Commands for models and their work: model, work, embed, job, usage."""
