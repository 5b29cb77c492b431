"""Addresses that no outward request may reach, as data. A client, a model or a page names them; each row has its reason.

`RESOLVED` stands in for the system's resolver: names of an attacker's domain lead where the attacker wants.
"""

from __future__ import annotations

from dataclasses import dataclass

PUBLIC_ADDRESS = "93.184.215.14"


@dataclass(frozen=True, slots=True)
class Hostile:
    """An address, and what the addresses of its host are (None: the host is a number, or there is none)."""

    why: str
    url: str
    leads_to: tuple[str, ...] | None = None


HOSTILE = (
    # schemes
    Hostile("file", "file:///etc/passwd"),
    Hostile("ftp", "ftp://example.test/x"),
    Hostile("gopher", "gopher://127.0.0.1:6379/_FLUSHALL"),
    Hostile("data", "data:text/plain,x"),
    Hostile("javascript", "javascript:alert(1)"),
    Hostile("no scheme", "//127.0.0.1/"),
    Hostile("no host", "http:///latest/meta-data"),
    # this machine and its network
    Hostile("loopback", "https://127.0.0.1/"),
    Hostile("loopback, not the first", "https://127.8.8.8/"),
    Hostile("loopback by name", "https://localhost/", ("127.0.0.1", "::1")),
    Hostile("loopback by name with a dot", "https://localhost./", ("127.0.0.1",)),
    Hostile("loopback in capitals", "HTTPS://LOCALHOST/", ("127.0.0.1",)),
    Hostile("loopback, IPv6", "https://[::1]/"),
    Hostile("any address", "https://0.0.0.0/"),
    Hostile("any address, IPv6", "https://[::]/"),
    Hostile("private, 10/8", "https://10.0.0.1/"),
    Hostile("private, 172.16/12", "https://172.31.255.254/"),
    Hostile("private, 192.168/16", "https://192.168.0.1/"),
    Hostile("shared, 100.64/10", "https://100.100.100.200/"),
    Hostile("unique local", "https://[fd00::1]/"),
    Hostile("site-local", "https://[fec0::1]/"),
    Hostile("link-local, IPv6", "https://[fe80::1]/"),
    Hostile("link-local with a zone", "https://[fe80::1%25eth0]/"),
    # metadata services
    Hostile("metadata", "http://169.254.169.254/latest/meta-data/iam/security-credentials/"),
    Hostile("metadata of containers", "http://169.254.170.2/v2/credentials"),
    Hostile("metadata, IPv6", "http://[fd00:ec2::254]/latest/meta-data/"),
    Hostile("metadata by name", "http://metadata.google.internal/", ("169.254.169.254",)),
    # groups and reserved ranges
    Hostile("multicast", "https://224.0.0.251/"),
    Hostile("multicast, IPv6", "https://[ff02::1]/"),
    Hostile("broadcast", "https://255.255.255.255/"),
    Hostile("reserved", "https://240.0.0.1/"),
    Hostile("benchmarks", "https://198.18.0.1/"),
    Hostile("documentation", "https://[2001:db8::1]/"),
    # IPv4 in IPv6
    Hostile("mapped", "https://[::ffff:127.0.0.1]/"),
    Hostile("mapped, in hexadecimal", "https://[::ffff:7f00:1]/"),
    Hostile("compatible", "https://[::127.0.0.1]/"),
    Hostile("6to4", "https://[2002:7f00:1::]/"),
    Hostile("6to4 to the metadata service", "https://[2002:a9fe:a9fe::1]/"),
    Hostile("NAT64", "https://[64:ff9b::7f00:1]/"),
    Hostile("NAT64, local", "https://[64:ff9b:1::a9fe:a9fe]/"),
    Hostile("Teredo", "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/"),
    # other ways to write a number
    Hostile("decimal", "https://2130706433/"),
    Hostile("hexadecimal", "https://0x7f000001/"),
    Hostile("octal", "https://0177.0.0.1/"),
    Hostile("octal, whole", "https://017700000001/"),
    Hostile("hexadecimal part", "https://0x7f.0.0.1/"),
    Hostile("short", "https://127.1/"),
    Hostile("short, with a dot", "https://127.0.0.1./"),
    Hostile("full-width digits", "https://\uff11\uff12\uff17.0.0.1/"),
    Hostile("circled digits", "https://\u2460\u2461\u2466.0.0.1/"),
    Hostile("percent-encoded", "https://%31%32%37.0.0.1/"),
    # what parsers read differently
    Hostile("user", "https://example.test@127.0.0.1/"),
    Hostile("user and password", "https://user:secret@example.test/", (PUBLIC_ADDRESS,)),
    Hostile("backslash", "https://example.test\\@127.0.0.1/"),
    Hostile("space in the host", "https://127.0.0.1 .example.test/"),
    Hostile("line break", "https://127.0.0.1\r\nHost: example.test/"),
    Hostile("zero byte", "https://127.0.0.1\x00.example.test/"),
    Hostile("open bracket", "https://[::1/"),
    # ports of other protocols
    Hostile("SSH", "https://example.test:22/", (PUBLIC_ADDRESS,)),
    Hostile("SMTP", "http://example.test:25/", (PUBLIC_ADDRESS,)),
    Hostile("port 0", "http://example.test:0/", (PUBLIC_ADDRESS,)),
    Hostile("no port", "http://example.test:99999/", (PUBLIC_ADDRESS,)),
    # names of an attacker
    Hostile("name of a private address", "https://inside.example.test/", ("10.0.0.7",)),
    Hostile("name of public and private addresses", "https://both.example.test/", (PUBLIC_ADDRESS, "10.0.0.7")),
    Hostile("name of a mapped address", "https://mapped.example.test/", ("::ffff:127.0.0.1",)),
    Hostile("name of a zone", "https://zone.example.test/", ("fe80::1%eth0",)),
    Hostile("name that is unknown", "https://unknown.example.test/", ()),
    Hostile("name that is none", "https://a..example.test/", ()),
)


class Resolver:
    """The system's resolver for these rows. `asked`: the names that were looked up."""

    def __init__(self, **known: tuple[str, ...]) -> None:
        self.asked: list[str] = []
        self._known = {host.replace("_", "."): addresses for host, addresses in known.items()}

    def of(self, row: Hostile) -> Resolver:
        """Also what the host of the row leads to."""
        self._row = row
        return self

    def __call__(self, host: str, port: int) -> list[str]:  # noqa: ARG002  as the system's
        self.asked.append(host)
        if host in self._known:
            return list(self._known[host])
        leads_to = self._row.leads_to
        if leads_to is None:  # the system returns a number as it is
            return [host]
        if not leads_to:
            raise OSError("name or service not known")
        return list(leads_to)
