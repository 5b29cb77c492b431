"""The AWS deployment as CDK stacks. Knows resources, roles and sizes; the product's code does not know it."""
