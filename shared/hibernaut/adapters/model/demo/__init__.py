"""`hibernaut/demo`: the scripted model that needs no key and no network."""
