# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kernel and initramfs of the lab's VMs: fetched from the distribution, unpacked, cached.

The cache is CACHE/kernel/NAME_VERSION/ (the unpacked packages), CACHE/kernel/default (a link to
the one in use), CACHE/initramfs/HASH.cpio and CACHE/vmlinux/HASH. Everything is made under another name and renamed
into place under one lock, so several runs may start at once.
"""
import fcntl
import glob
import gzip
import hashlib
import lzma
import os
import shutil
import struct
import subprocess
import tempfile
from contextlib import contextmanager

# What the initramfs needs before the host's root is there; the guest's modprobe finds the rest.
EARLY_MODULES = ["virtio_pci", "9pnet_virtio", "9p", "overlay"]


class LabError(Exception):
    """One line for the user; code 2 is misuse or something that is not installed, else 125."""

    def __init__(self, text, code=125):
        super().__init__(text)
        self.code = code


class Kernel:
    """An unpacked kernel: root holds boot/vmlinuz-VERSION and lib/modules/VERSION."""

    def __init__(self, root):
        images = sorted(glob.glob(os.path.join(root, "boot", "vmlinu[xz]-*")))
        if not images:
            raise LabError(f"no boot/vmlinuz-* in {root}", 2)
        self.root = os.path.realpath(root)
        self.image = os.path.realpath(images[-1])
        self.version = os.path.basename(images[-1]).split("-", 1)[1]
        if not os.path.isdir(self.modules):
            raise LabError(f"no lib/modules/{self.version} in {root}", 2)

    @property
    def modules(self):
        return os.path.join(self.root, "lib", "modules", self.version)


def cache_dir():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = os.path.join(base, "verbsperf", "lab")
    os.makedirs(path, exist_ok=True)
    return os.path.realpath(path)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        os.unlink(path)


@contextmanager
def locked(cache):
    with open(os.path.join(cache, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in glob.glob(os.path.join(cache, "tmp.*")):  # of a run that was killed
            remove(left)
        yield


def output_of(argv, **kw):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, **kw)
    if done.returncode:
        why = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise LabError(f"{argv[0]} {argv[1]}: exit {done.returncode}: {why[-1]}")
    return done.stdout


def depends(package):
    """The names that a package depends on, in its order; None if apt does not know it."""
    if not shutil.which("apt-cache"):
        raise LabError("no apt here to fetch a kernel with: name a folder with --kernel", 2)
    done = subprocess.run(["apt-cache", "depends", package], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    if done.returncode or not done.stdout.strip():
        return None
    lines = [line.split() for line in done.stdout.splitlines()]
    return [w[1] for w in lines if len(w) == 2 and w[0] == "Depends:"]


def is_image(name):
    return name.startswith("linux-image-")


def packages_of(name):
    """The packages with the image and the modules behind a kernel package, a meta package or not."""
    names = [name]
    for _ in range(3):
        deps = depends(names[0])
        if deps is None:
            raise LabError(f"apt knows no package {names[0]} (run apt-get update?)", 2)
        concrete = [d for d in deps if is_image(d)]
        if concrete:
            names = concrete[:1]
        names += [d for d in deps if d.startswith("linux-modules-") and d not in names]
        if not concrete:
            break
    # Ubuntu keeps rdma_rxe in a package that the image only recommends.
    version = names[0].removeprefix("linux-image-").removeprefix("unsigned-")
    extra = f"linux-modules-extra-{version}"
    if extra not in names and depends(extra) is not None:
        names.append(extra)
    return names


def default_package():
    for name in ("linux-image-amd64", "linux-image-generic"):
        if depends(name):
            return name
    raise LabError("apt knows neither linux-image-amd64 nor linux-image-generic (run apt-get update?)", 2)


def unpack(debs, into):
    for deb in debs:
        output_of(["dpkg", "-x", deb, into])
    lib, usr = os.path.join(into, "lib"), os.path.join(into, "usr", "lib")
    if not os.path.isdir(os.path.join(lib, "modules")) and os.path.isdir(os.path.join(usr, "modules")):
        os.makedirs(lib, exist_ok=True)
        os.symlink("../usr/lib/modules", os.path.join(lib, "modules"))
    elif not os.path.isdir(os.path.join(usr, "modules")):
        os.makedirs(usr, exist_ok=True)  # where the kmod of newer distributions looks
        os.symlink("../../lib/modules", os.path.join(usr, "modules"))
    output_of(["depmod", "-b", into, Kernel(into).version])


def install(cache, name, debs):
    """Unpack packages as CACHE/kernel/NAME, once."""
    final = os.path.join(cache, "kernel", name)
    if not os.path.isdir(final):
        work = tempfile.mkdtemp(prefix="tmp.", dir=cache)
        unpack(debs, work)
        os.makedirs(os.path.dirname(final), exist_ok=True)
        os.rename(work, final)
    return final


def fetch(cache, package, say):
    """Download and unpack a kernel package; a version that is in the cache is not fetched again."""
    names = packages_of(package)
    version = output_of(["apt-cache", "show", "--no-all-versions", names[0]])
    version = [w.split()[1] for w in version.splitlines() if w.startswith("Version:")][0]
    name = f"{names[0]}_{version.replace(':', '%3a')}"
    final = os.path.join(cache, "kernel", name)
    if os.path.isdir(final):
        return final
    say(f"fetching {' '.join(names)} ({version})")
    work = tempfile.mkdtemp(prefix="tmp.", dir=cache)
    # apt's own user cannot write to a private folder; the signatures are checked all the same.
    output_of(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download"] + names, cwd=work)
    final = install(cache, name, sorted(glob.glob(os.path.join(work, "*.deb"))))
    shutil.rmtree(work)
    return final


def set_default(cache, root):
    link = os.path.join(cache, "kernel", "default")
    new = os.path.join(cache, "kernel", f"default.{os.getpid()}")
    os.symlink(os.path.basename(root), new)
    os.rename(new, link)


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()[:16]


def find(cache, choice, say, refresh=False):
    """The kernel of --kernel (None: the distribution's): a folder, a .deb or a package name."""
    if choice is None:
        link = os.path.join(cache, "kernel", "default")
        if refresh or not os.path.isdir(link):
            set_default(cache, fetch(cache, default_package(), say))
        return Kernel(os.path.realpath(link))
    if os.path.isdir(choice):
        return Kernel(choice)
    if choice.endswith(".deb"):
        if not os.path.isfile(choice):
            raise LabError(f"--kernel {choice}: no such file", 2)
        return Kernel(install(cache, f"deb-{digest(choice)}", [choice]))
    if "/" in choice:
        raise LabError(f"--kernel {choice}: no such folder", 2)
    return Kernel(fetch(cache, choice, say))


def early_modules(kernel):
    """The files of the early modules in loading order."""
    paths = []
    for module in EARLY_MODULES:
        text = output_of(["modprobe", "-d", kernel.root, "-S", kernel.version, "--show-depends", module])
        for words in (line.split() for line in text.splitlines()):
            if words and words[0] == "insmod" and words[1] not in paths:
                paths.append(words[1])
    return paths


def decompressed(data):
    """By its first bytes; what is not compressed in a way known here comes back as it is."""
    if data.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMADecompressor().decompress(data)  # ends where the stream does
    if data.startswith(b"\x1f\x8b"):
        return gzip.decompress(data)
    for magic, tool in ((b"\x28\xb5\x2f\xfd", "zstd"), (b"\x02\x21\x4c\x18", "lz4")):
        if data.startswith(magic) and shutil.which(tool):
            done = subprocess.run([tool, "-dcq"], input=data, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
            return done.stdout or data  # what follows the stream makes an exit code, not an error
    return data


def vmlinux_of(image):
    """The ELF file inside a bzImage (Documentation/arch/x86/boot.rst), or None."""
    with open(image, "rb") as f:
        data = f.read()
    if data[0x202:0x206] != b"HdrS":
        return None
    setup_sectors = data[0x1f1] or 4
    offset, length = struct.unpack_from("<II", data, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    elf = decompressed(data[start:start + length])
    return elf if elf.startswith(b"\x7fELF") and b"Xen\0" in elf else None


def boot_image(cache, kernel):
    """What qemu loads. Unpacked here and entered by PVH, a kernel boots 4 s sooner than as bzImage."""
    final = os.path.join(cache, "vmlinux", digest(kernel.image))
    if not os.path.exists(final):
        elf = vmlinux_of(kernel.image)
        os.makedirs(os.path.dirname(final), exist_ok=True)
        with open(os.path.join(cache, "tmp.vmlinux"), "wb") as f:
            f.write(elf or b"")  # an empty file: there is none, do not try again
        os.rename(f.name, final)
    return final if os.path.getsize(final) else kernel.image


def module_bytes(path):
    with open(path, "rb") as f:
        data = decompressed(f.read())
    if not data.startswith(b"\x7fELF"):
        raise LabError(f"cannot decompress {path}: apt-get install zstd", 2)
    return data


def initramfs_files(kernel, init, busybox):
    """What the initramfs holds, as (name, mode, bytes)."""
    with open(init, "rb") as f, open(busybox, "rb") as b:
        files = [("init", 0o755, f.read()), ("bin/busybox", 0o755, b.read())]
    order = []
    for path in early_modules(kernel):
        name = os.path.basename(path).split(".ko")[0] + ".ko"
        files.append((f"modules/{name}", 0o644, module_bytes(path)))
        order.append(name)
    files.append(("modules/order", 0o644, "".join(f"{n}\n" for n in order).encode()))
    return files


def pack(files, into):
    """Write files below the folder `into`, and a newc archive of them beside it."""
    for folder in ("bin", "modules", "dev", "proc", "sys", "job", "lower", "upper", "ovl", "new"):
        os.makedirs(os.path.join(into, folder))
    for name, mode, data in files:
        path = os.path.join(into, name)
        with open(path, "wb") as f:
            f.write(data)
        os.chmod(path, mode)
    names = output_of(["find", ".", "-mindepth", "1"], cwd=into)
    with open(into + ".cpio", "wb") as out:
        subprocess.run(["cpio", "-o", "-H", "newc", "-R", "0:0", "--quiet"], input=names.encode(),
                       stdout=out, cwd=into, check=True)
    return into + ".cpio"


def initramfs(cache, kernel, init, busybox):
    """Path of the archive that belongs to this kernel, init and busybox; made when they change."""
    files = initramfs_files(kernel, init, busybox)
    key = hashlib.sha256()
    for name, mode, data in files:
        key.update(f"{name} {mode} {len(data)}\n".encode())
        key.update(data)
    final = os.path.join(cache, "initramfs", key.hexdigest()[:32] + ".cpio")
    if not os.path.isfile(final):
        os.makedirs(os.path.dirname(final), exist_ok=True)
        work = tempfile.mkdtemp(prefix="tmp.", dir=cache)
        os.rename(pack(files, os.path.join(work, "root")), final)
        shutil.rmtree(work)
    return final
