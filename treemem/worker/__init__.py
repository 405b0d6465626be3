"""Runs the queued jobs: those without a model first, then vectors, then model summaries.

Read source_jobs, collection_jobs, embed_jobs, summary_jobs, worker, pool, run, model_choice.
"""
