"""What a server and its clients share: messages, their encoding, and one connection.

    messages         every message, declared once: fields, sender, durability
    codec            messages as MessagePack and JSON, with strict limits
    names            names of accounts, and which of them look alike
    time_control     the notation of time controls, such as `300+3`
    tournament_spec  the specification of a tournament
    analyst          orders to an analyst process, and its reports
    versions         digests that tell versions of a bot apart
    connection, tls  a client's connection to a server, and the verification of its certificate
    endpoints        addresses that a server listens on, and the PROXY protocol of HAProxy

All but `connection`, `tls` and `endpoints` are pure: no network, no SQL, no clock.
"""
