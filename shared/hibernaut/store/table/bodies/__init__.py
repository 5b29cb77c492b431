"""How a record becomes an item's body: the codec, the formats' versions, packs."""
