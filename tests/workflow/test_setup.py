import importlib.metadata
import importlib.util
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from dag import list_jobs
from headroom.study.stages import module_of
from missing_software import skip
from packaging.utils import canonicalize_name
from study import TINY

ROOT = Path(__file__).parents[2]
ENVS = ROOT / "envs"
PARTS = ("workflow", "cluster", "fairseq", "tests")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
COMMANDS = ("bash", "cat", "cksum", "dirname", "find", "grep", "head", "ls", "make", "mkdir", "mktemp", "mv", "rm")


def pins(lines: list[str]) -> dict[str, str]:
    found = [line.strip().partition("==") for line in lines if "==" in line.split("#")[0]]
    return {canonicalize_name(name): version for name, _, version in found}


def lock() -> dict[str, str]:
    """Return the versions of all parts of .venv."""
    return pins([line for part in PARTS for line in (ENVS / f"{part}.txt").read_text().split("\n")])


def test_this_environment_satisfies_the_lock() -> None:
    have = {name: importlib.metadata.version(name).partition("+")[0] for name in lock()}
    assert have == lock()
    wanted = PROJECT["project"]["optional-dependencies"]["fairseq"]
    assert f"fairseq-fixed=={importlib.metadata.version('fairseq-fixed')}" in wanted


def test_conda_environments_hold_what_the_stages_of_their_rules_import(tmp_path: Path) -> None:
    import grimp

    options: dict[str, Any] = {"include_external_packages": True, "exclude_type_checking_imports": True}
    graph = grimp.build_graph("headroom", cache_dir=None, **options)
    # a criterion imports the computation of its scores when the stage `scores` calls it
    graph.remove_import(importer="headroom.methods.criteria.gradient", imported="torch")
    owners = importlib.metadata.packages_distributions()
    wanted = runpy.run_path(str(ENVS / "lock.py"))["conda_environments"]()

    def lacking(module: str, environment: str) -> set[str]:
        """Return the distributions that a module imports, directly or through others, and an environment has not."""
        modules = {module, *graph.find_descendants(module)}
        found = {other for one in modules for other in graph.find_upstream_modules(one)}
        imported = {owners[other][0] for other in found if graph.is_module_squashed(other) and other in owners}
        named = {one.name for one in wanted[environment]}
        named |= {"fairseq-fixed"} if (ENVS / f"{environment}.post-deploy.sh").exists() else set()
        return {*map(canonicalize_name, imported)} - {*map(canonicalize_name, named)}

    missing = {"classifiers": lacking("headroom.models.classifier", "torch")}
    for job in list_jobs(ROOT / TINY, tmp_path):
        missing[job.rule] = lacking(module_of(job.stage), job.libraries)
    assert not {stage: names for stage, names in missing.items() if names}


def write_executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a bare copy of what sets the environment up, with a PATH of its own in `bin`."""
    shutil.copytree(ENVS, tmp_path / "envs")
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "bin").mkdir()
    for command in COMMANDS:
        found = shutil.which(command)
        assert found is not None
        (tmp_path / "bin" / command).symlink_to(found)
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    write_executable(tmp_path / "bin" / "c++", "#!/bin/sh\nexit 1\n")
    return tmp_path


@pytest.fixture
def make(project: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    def call(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        inherited = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "LANG"))}
        own = {"PATH": str(project / "bin"), "HOME": str(project), "XDG_CACHE_HOME": str(project / "cache")}
        return subprocess.run(
            ["make", "--no-print-directory", *arguments],
            cwd=project,
            env=inherited | own | environment,
            capture_output=True,
            text=True,
        )

    return call


def the_one_line(ended: "subprocess.CompletedProcess[str]") -> str:
    """Return the only line of a failed call that is not make's own."""
    assert ended.returncode != 0
    lines = [line for line in (ended.stdout + ended.stderr).split("\n") if line and "make: ***" not in line]
    assert len(lines) == 1, lines
    return lines[0]


class TestWhatIsMissingIsSaidFirst:
    def test_no_python(self, make, project) -> None:
        (project / "bin" / "python3").unlink()
        for name in ("python3", "python3.77"):
            assert f"{name}: not found; install Python 3.11" in the_one_line(make("study", f"PYTHON={name}"))

    def test_old_python(self, make, project) -> None:
        (project / "bin" / "python3").unlink()
        old = '#!/bin/sh\ncase "$2" in *python_version*) echo 3.9.2;; *) exit 1;; esac\n'
        write_executable(project / "bin" / "python3", old)
        line = the_one_line(make("study"))
        assert "python3: version 3.9.2 is too old; name Python 3.11 or newer" in line
        assert "make study PYTHON=python3.12" in line

    def test_no_venv_module(self, make, project) -> None:
        (project / "bin" / "python3").unlink()
        lacking = f'#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\nexec {sys.executable} "$@"\n'
        write_executable(project / "bin" / "python3", lacking)
        assert "module venv is missing" in the_one_line(make("study"))


def write_wheel(folder: Path, name: str, version: str, code: str = "") -> None:
    """Write a wheel with one module, enough for pip."""
    module, info = name.replace("-", "_"), f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{module}.py", code)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


QUICKLY = """#!/bin/sh
case "$*" in
*_base_executable*) echo "$0" ;;
"-m venv .venv")
  "{python}" -m venv --without-pip .venv && "{link}" -s "{pip}" .venv/lib/*/site-packages ;;
*) exec "{python}" "$@" ;;
esac
"""


@pytest.mark.long
class TestEnvironment:
    """The real script with locks of a few toy packages.

    Its Python makes environments by linking to this one's pip, for which `python -m venv` takes most of its time.
    """

    @pytest.fixture
    def create(self, make, project) -> Callable[..., "subprocess.CompletedProcess[str]"]:
        write_lock(project, "1.0")
        (project / "bin" / "python3").unlink()
        pip = Path(importlib.util.find_spec("pip").submodule_search_locations[0])
        quickly = QUICKLY.format(python=sys.executable, link=shutil.which("ln"), pip=pip)
        write_executable(project / "bin" / "python3", quickly)
        for name in ("torch", "numpy", "queue", "more", "tool"):
            write_wheel(project / "index", name, "1.0")
        write_wheel(project / "index", "torch", "2.0")
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(project / "index"), "PIP_CONFIG_FILE": os.devnull}
        return lambda target: make(target, **offline)

    def test_life_of_an_environment(self, create, project) -> None:
        python = project / ".venv" / "bin" / "python"
        seen = create("environment")
        assert seen.returncode == 0, seen.stderr
        assert seen.stdout.endswith("the environment is ready: .venv\n")
        assert installed(python) == {"torch": "1.0", "numpy": "1.0"}

        (project / "envs" / "workflow.txt").touch()
        assert create("environment").stdout == ""  # a second call does nothing

        write_lock(project, "2.0")  # a changed lock is followed
        assert create("environment").stdout.startswith("headroom: the lock has changed")
        assert installed(python) == {"torch": "2.0", "numpy": "1.0"}

        (project / ".venv" / "ready").unlink()  # interrupted: created again
        (python.parent.parent / "stray").touch()
        assert create("environment").stdout.startswith("headroom: creating .venv")
        assert not (python.parent.parent / "stray").exists()
        assert installed(python) == {"torch": "2.0", "numpy": "1.0"}

        python.unlink()  # the interpreter was removed
        assert create("environment").stdout.startswith("headroom: creating .venv")

        done = (project / ".venv" / "ready").read_text()  # the project was moved: programs in .venv have its old path
        (project / ".venv" / "ready").write_text(done.replace(str(project), "/elsewhere"))
        assert create("environment").stdout.startswith("headroom: creating .venv")

    def test_two_calls_at_once(self, create, project) -> None:
        if not (flock := shutil.which("flock")):
            skip("flock")
        (project / "bin" / "flock").symlink_to(flock)
        with ThreadPoolExecutor() as pool:
            seen = list(pool.map(create, ["environment"] * 2))
        assert [one.returncode for one in seen] == [0, 0], seen
        assert sorted(one.stdout.count("creating .venv") for one in seen) == [0, 1]

    def test_fairseq_is_added_once_there_is_a_compiler(self, create, project) -> None:
        python = project / ".venv" / "bin" / "python"
        compiler = project / "bin" / "c++"
        compiler.rename(project / "c++")
        assert "there is no C++ compiler" in create("environment").stdout
        seen = create("everything")
        assert seen.returncode != 0
        assert seen.stderr.startswith("headroom: c++: not found; install a C++ compiler to build fairseq")
        assert create("environment").stdout == ""  # the first part is complete nevertheless

        (project / "c++").rename(compiler)
        built = re.search(r"kept in (\S+)\)", create("everything").stdout)  # there is nothing to be compiled here
        assert built
        write_wheel(Path(built[1]), "fairseq-fixed", "1.0")
        assert create("everything").returncode == 0
        assert installed(python).keys() == {"torch", "numpy", "queue", "more", "fairseq-fixed", "tool"}

        compiler.unlink()  # what was built once needs no compiler
        (project / ".venv" / "ready").unlink()
        assert create("everything").returncode == 0
        assert "fairseq-fixed" in installed(python)
        assert create("everything").stdout == ""


def write_lock(project: Path, torch: str) -> None:
    first = {"workflow": f"torch=={torch}\nnumpy==1.0\n"}
    locks = first | {"cluster": "queue==1.0\n", "fairseq": "more==1.0\n", "tests": "tool==1.0\n"}
    for name, text in locks.items():
        (project / "envs" / f"{name}.txt").write_text(text)
    script = project / "envs" / "fairseq.post-deploy.sh"
    script.write_text(re.sub(r"(fairseq-fixed)==\S+", r"\1==1.0", script.read_text()))


def installed(python: Path) -> dict[str, str]:
    """Return the versions of the libraries that this interpreter has by their names."""
    code = "import json, importlib.metadata as m; print(json.dumps({d.name: d.version for d in m.distributions()}))"
    found: dict[str, str] = json.loads(
        subprocess.run([python, "-I", "-c", code], capture_output=True, check=True).stdout
    )
    return {name: version for name, version in found.items() if name != "pip"}


@pytest.mark.parametrize("name", ["default", "slurm", "cluster-generic"])
def test_snakemake_reads_a_profile_whose_rules_are_there(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from snakemake.cli import parse_args

    monkeypatch.chdir(ROOT)
    _, given = parse_args(["--dry-run", "--profile", f"profiles/{name}"])
    assert given.executor == (None if name == "default" else name)
    text = (ROOT / "profiles" / name / "profile.yaml").read_text()
    named = {*given.set_resources, *re.findall(r"^  # (\w+):$", text, flags=re.M)}  # in use, or proposed
    named |= set(filter(None, yaml.safe_load(text).get("slurm-array-jobs", "").split(",")))
    study = yaml.safe_load((ROOT / TINY).read_text())
    assert named <= {job.rule for job in list_jobs({**study, "shards": 2}, tmp_path)}
    assert {"timing", "update_cost"} <= named or name != "slurm"


def test_every_file_of_the_package_is_installed_and_its_command_starts_the_stages() -> None:
    module, _, function = PROJECT["project"]["scripts"]["headroom"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))
    package = ROOT / "workflow" / "headroom"
    globs = PROJECT["tool"]["setuptools"]["package-data"]["headroom"]
    listed = {path for glob in globs for path in package.glob(glob) if path.is_file()}
    others = {path for path in package.rglob("*.*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert others == listed
