"""What a server and its clients share: messages, their encoding, and one connection.

    messages         every message, declared once: fields, sender, durability
    codec            messages as MessagePack and JSON, with strict limits
    names            names of accounts, and which of them look alike
    time_control     the notation of time controls, such as `300+3`
    tournament_spec  the specification of a tournament
    analyst          orders to an analyst process, and its reports
    versions         digests that tell versions of a bot apart
    connection, tls  the client's side of a connection to a server
    endpoints        addresses that a server listens on, and the PROXY protocol of HAProxy

All but `connection`, `tls` and `endpoints` are pure: no network, no SQL, no clock.
"""
