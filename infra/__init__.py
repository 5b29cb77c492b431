"""What runs on AWS, as CDK stacks. Knows resources, roles and sizes; the product's code knows nothing of it."""
