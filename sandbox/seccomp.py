"""The filter of system calls, made with libseccomp, which every Debian has.

It denies what the profiles of Docker and Flatpak deny: calls that change the system, reach other
processes, or have had most of the kernel's faults. Sockets other than Unix sockets are denied, too,
except for those of TCP where they are asked for, and memory that belongs to no process, because it
is not counted. So are objects of which the kernel allows each user a number: a program could take
them from the other programs of the user.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os

_ALLOW = 0x7FFF0000
_DENY = 0x00050000
_NOT_EQUAL, _EQUAL, _GREATER, _MASKED_EQUAL = 1, 4, 6, 7
_CLONE_NEWUSER = 0x10000000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_F_SETPIPE_SZ = 1031
#: The kernel does not say which process has set such a lock.
_F_OFD_SETLK, _F_OFD_SETLKW = 37, 38
#: In the flags of `mmap`: the bits of the kind of a mapping, and those of shared memory.
_MAP_KIND, _MAP_SHARED_ANONYMOUS = 0x2F, 0x21
_AF_UNIX, _AF_INET = 1, 2
_IPPROTO_TCP = 6

#: Calls that fail with "operation not permitted".
_DENIED = (
    "acct add_key bpf chroot clock_adjtime clock_settime delete_module finit_module fsconfig"
    " get_mempolicy init_module ioperm iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie"
    " mbind migrate_pages modify_ldt mount move_mount move_pages msgget name_to_handle_at"
    " open_by_handle_at perf_event_open personality pidfd_getfd pivot_root process_madvise"
    " process_vm_readv process_vm_writev ptrace quotactl reboot request_key sched_setaffinity"
    " semget set_mempolicy setdomainname sethostname setns settimeofday shmget swapoff swapon"
    " syslog timer_create umount umount2 unshare uselib userfaultfd vhangup"
)
#: Calls that programs try first: they are told that the system has none. clone3 has its flags in
#: memory, where a filter cannot see them.
_MISSING = (
    "clone3 fanotify_init fsmount fsopen fspick inotify_init inotify_init1 io_setup"
    " io_uring_enter io_uring_register io_uring_setup memfd_create memfd_secret mount_setattr"
    " open_tree"
)


class _Comparison(ctypes.Structure):
    """The structure scmp_arg_cmp: an argument of a call, and the values that it is compared to."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


#: Calls with certain arguments that fail with "operation not permitted".
_COMPARED = (
    ("clone", _Comparison(0, _MASKED_EQUAL, _CLONE_NEWUSER, _CLONE_NEWUSER)),
    ("ioctl", _Comparison(1, _MASKED_EQUAL, 0xFFFFFFFF, _TIOCSTI)),
    ("ioctl", _Comparison(1, _MASKED_EQUAL, 0xFFFFFFFF, _TIOCLINUX)),
    ("fcntl", _Comparison(1, _MASKED_EQUAL, 0xFFFFFFFF, _F_SETPIPE_SZ)),
    ("fcntl", _Comparison(1, _MASKED_EQUAL, 0xFFFFFFFF, _F_OFD_SETLK)),
    ("fcntl", _Comparison(1, _MASKED_EQUAL, 0xFFFFFFFF, _F_OFD_SETLKW)),
    ("mmap", _Comparison(3, _MASKED_EQUAL, _MAP_KIND, _MAP_SHARED_ANONYMOUS)),
)


#: Arguments of `socket` that fail in the same way: all but those of Unix sockets.
_SOCKETS = ((_Comparison(0, _NOT_EQUAL, _AF_UNIX),),)
#: All but those of Unix sockets and of TCP; a stream has the type 1.
_SOCKETS_BUT_TCP = (
    (_Comparison(0, _GREATER, _AF_INET),),
    (_Comparison(0, _EQUAL, _AF_INET), _Comparison(2, _GREATER, _IPPROTO_TCP)),
    *(
        (_Comparison(0, _EQUAL, _AF_INET), _Comparison(1, _MASKED_EQUAL, bit, bit))
        for bit in (2, 4, 8)
    ),
)


@functools.cache
def program(*, tcp: bool = False) -> bytes:
    """Return the filter as a program for the kernel; `tcp`: it allows sockets of TCP.

    Raises OSError without libseccomp.
    """
    library = _library()
    context = library.seccomp_init(_ALLOW)
    if not context:
        raise OSError("libseccomp cannot make a filter")
    try:
        _add_rules(library, context, _SOCKETS_BUT_TCP if tcp else _SOCKETS)
        reading, writing = os.pipe()  # neither full disks nor limits of files cut it
        with open(reading, "rb") as output:
            with open(writing, "wb"):
                _require(library.seccomp_export_bpf(ctypes.c_void_p(context), writing))
            return output.read()
    finally:
        library.seccomp_release(ctypes.c_void_p(context))


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = (ctypes.c_uint32,)
    return library


def _add_rules(
    library: ctypes.CDLL, context: int, sockets: tuple[tuple[_Comparison, ...], ...]
) -> None:
    rules: list[tuple[str, int, tuple[_Comparison, ...]]] = [
        *((name, errno.EPERM, ()) for name in _DENIED.split()),
        *((name, errno.ENOSYS, ()) for name in _MISSING.split()),
        *((name, errno.EPERM, (compared,)) for name, compared in _COMPARED),
        *(("socket", errno.EPERM, compared) for compared in sockets),
    ]
    for name, error, compared in rules:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number == -1:
            raise OSError(f"libseccomp is too old: it does not know {name}")
        array = (_Comparison * len(compared))(*compared)
        add = library.seccomp_rule_add_array
        action = ctypes.c_uint32(_DENY | error)
        _require(add(ctypes.c_void_p(context), action, number, len(compared), array))


def _require(code: int) -> None:
    """Raise OSError if a call of libseccomp has failed."""
    if code:
        raise OSError(-code, f"libseccomp cannot make a filter: {os.strerror(-code)}")
