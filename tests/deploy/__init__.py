"""`make deploy-check`: the CDK deploys the stack to an emulator of AWS on loopback, and clients use it.

It shows what no synthesis shows: that CloudFormation accepts the template and its updates, that the assets contain what the
functions import, and that an unchanged commit deploys nothing. `gaps` lists what an emulator cannot show.
"""
