"""Says what results are in JSON: values.py their values, schemas.py their types."""
