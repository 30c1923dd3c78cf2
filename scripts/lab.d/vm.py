# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One VM of the lab: its command line, its process, and the files through which it speaks."""
import os
import select
import shlex
import subprocess
import time

import tsc

CHUNK = 1024  # a pipe that is writable takes 4096 bytes, so even with prefixes this does not block


def qemu_args(vm):
    """The command line of one VM; the host's root is tag root, the run's folder is tag job."""
    # One CPU until the PCI devices are set up; guest starts the others. qemu 7.2 was seen to die in
    # msix_table_mmio_write with two: it seems that an access to the APIC met a memory map which the
    # other CPU was changing.
    append = ("console=ttyS0 quiet panic=-1 maxcpus=1 tsc=reliable mitigations=off net.ifnames=0 "
              f"random.trust_cpu=on lab.name={vm.name}")
    rate = tsc.khz()
    if rate:
        append += f" tsc_early_khz={rate}"
    args = ["qemu-system-x86_64", "-name", f"verbsperf-lab-{vm.name}", "-nodefaults",
            "-no-user-config", "-display", "none", "-no-reboot",
            "-machine", "q35", "-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max",
            "-smp", str(vm.smp), "-m", vm.mem, "-rtc", "base=utc",
            "-kernel", vm.image, "-initrd", vm.initrd, "-append", append]
    args += share("root", "/", readonly=True) + share("job", vm.run_dir) + share("out", vm.out_dir)
    log = escape(os.path.join(vm.job, "console"))
    if vm.shell:  # Ctrl-a x ends the VM
        args += ["-chardev", f"stdio,id=con,mux=on,signal=off,logfile={log}",
                 "-mon", "chardev=con"]
    else:
        args += ["-chardev", f"file,id=con,path={log}"]
    args += ["-serial", "chardev:con"]
    if vm.wire is not None:
        mac = f"52:54:00:4c:4d:{1 if vm.name == 'a' else 2:02x}"
        args += ["-netdev", f"socket,id=wire,fd={vm.wire.fileno()}",
                 "-device", f"virtio-net-pci,netdev=wire,mac={mac},romfile="]
    return args


def escape(path):
    return path.replace(",", ",,")


def share(tag, path, readonly=False):
    option = f"local,path={escape(path)},mount_tag={tag},security_model=none,multidevs=remap"
    return ["-virtfs", option + (",readonly=on" if readonly else "")]


class Stream:
    """Passes on what a growing file gains; with a prefix, whole lines only."""

    def __init__(self, path, fd, prefix=b""):
        self.path, self.fd, self.prefix = path, fd, prefix
        self.file, self.rest = None, b""

    def pump(self, last=False):
        """Pass on what is there; all of it if it is the last, else what the reader takes at once."""
        if self.file is None and os.path.exists(self.path):
            self.file = open(self.path, "rb", buffering=0)
        turns = 0
        while self.file is not None and (last or turns < 4096 and self.is_writable()):
            data = self.file.read(CHUNK)
            if not data:
                break
            self.put(data)
            turns += 1
        if last and self.rest:
            self.write(self.prefix + self.rest + b"\n")
            self.rest = b""

    def is_writable(self):
        return bool(select.select([], [self.fd], [], 0)[1])

    def put(self, data):
        if not self.prefix:
            self.write(data)
            return
        *lines, self.rest = (self.rest + data).split(b"\n")
        self.write(b"".join(self.prefix + line + b"\n" for line in lines))

    def write(self, data):
        while data:
            data = data[os.write(self.fd, data):]

    def close(self):
        if self.file is not None:
            self.file.close()


class Vm:
    """A VM with the name run, a or b; its files lie in RUN_DIR/NAME."""

    def __init__(self, name, image, initrd, run_dir, out_dir, smp, mem, wire=None, shell=False):
        self.name, self.image, self.initrd = name, image, initrd
        self.run_dir, self.out_dir, self.smp, self.mem = run_dir, out_dir, smp, mem
        self.wire, self.shell = wire, shell
        self.job = os.path.join(run_dir, name)
        os.mkdir(self.job)
        prefix = f"{name.upper()}| ".encode() if wire is not None else b""
        self.streams = [Stream(os.path.join(self.job, f"std{s}"), fd, prefix)
                        for s, fd in (("out", 1), ("err", 2))]
        self.process = self.started = self.code = self.why = None

    def write_job(self, argv, env):
        for name, words in (("argv", argv), ("env", [f"{k}={v}" for k, v in env.items()])):
            with open(os.path.join(self.job, name), "wb") as f:
                f.write(b"".join(os.fsencode(w) + b"\0" for w in words))

    def start(self):
        # The kernel kills qemu when this process is gone, however it went.
        argv = ["setpriv", "--pdeathsig", "KILL"] + qemu_args(self)
        with open(os.path.join(self.job, "qemu"), "wb") as errors:
            self.process = subprocess.Popen(
                argv, stdin=None if self.shell else subprocess.DEVNULL,
                stdout=None if self.shell else errors, stderr=errors,
                pass_fds=[self.wire.fileno()] if self.wire else [],
                start_new_session=not self.shell)

    def text(self, name):
        try:
            with open(os.path.join(self.job, name), errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def poll(self):
        """Pass on output, note what became of the guest. True when there is nothing to wait for."""
        if self.code is not None:
            return True
        gone = self.process.poll() is not None
        if self.started is None and os.path.exists(os.path.join(self.job, "state")):
            self.started = time.monotonic()
        code = self.text("code").strip()
        for stream in self.streams:
            stream.pump()
        if code:
            self.end(int(code))
        elif gone:
            self.end(125, "the VM ended without an exit code")
        return self.code is not None

    def end(self, code, why=None):
        """The guest's exit code is known, or why there is none: then the guest has to end."""
        if why:
            self.kill()
        for stream in self.streams:
            stream.pump(last=True)
        self.code, self.why = code, why

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            if self.shell:  # so that it gives the terminal back as it was
                self.process.terminate()
                time.sleep(0.2)
            self.process.kill()
            self.process.wait()

    def close(self):
        self.kill()
        for stream in self.streams:
            stream.close()


def config(values):
    """Text of the file that init and guest read; both are shells."""
    return "".join(f"lab_{k}={shlex.quote(str(v))}\n" for k, v in values.items())
