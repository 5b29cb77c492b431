"""The provider conformance kit: servers that enforce the providers' documented rules, and one script of scenarios for all of them."""
