"""Runs programs of strangers, which reach nothing but their own folder and their two pipes.

    settings    the table `sandbox` of a file
    bubblewrap  `Sandbox`: turns a command into one that runs in namespaces of its own
    machine     what this machine can enforce, also with another command than bubblewrap
    seccomp     the filter of system calls
    watch       a program of its own: sets limits, starts bubblewrap, and ends it
    proxy       another one: connects a sandbox with hosts that the operator allows

A sandboxed program has new namespaces for users, processes, network, communication and mounts, no
capabilities and no way to gain some, an empty environment, the system's programs and its own folder
read-only, and a temporary folder of bounded size. It plays over its standard input and output. The
process outside has the token and the connection.
"""
