"""Works off the queue: jobs without a model, then vectors, then models' summaries.

Read source_jobs, collection_jobs, embed_jobs, summary_jobs, worker, pool, run, model_choice.
"""
