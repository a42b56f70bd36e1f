# All jobs but the report, made from `preparation.rules`, the experiments and `report.rules`: their inputs, outputs and
# settings. A job gets one JSON, which `python -m headroom` reads.


def inputs_of(form):
    """Return the input function of a rule: the files that a job reads, and the source files that it depends on."""

    def files(wildcards):
        return {
            **{
                name: outside(paths) if name.startswith("outside") else undated(name, paths)
                for name, paths in form.inputs(plan, dict(wildcards.items())).items()
            },
            "code": code(form, wildcards),
        }

    return files


def undated(name, paths):
    """Return input files; the modification time of a directory of models is irrelevant, that of its table matters."""
    return [ancient(path) for path in paths] if name.startswith("models") else paths


def code(form, wildcards):
    """Return the files of the package that a job's results depend on."""
    found = set()
    for stage, values in form.of(dict(wildcards.items())):
        engine = plan.engine(values["run"]) if stage.loads_model else None
        found.update(sources.of_stage(stage.place, *stage.imports(plan, values), engine=engine))
    return outside(sorted(found))


def outputs_of(form):
    """Return the outputs of a rule."""
    return {
        name: [directory(path[:-1]) if is_directory(path) else path for path in paths]
        for name, paths in form.outputs(plan).items()
    } | {"benchmark": f"{BENCHMARKS}/{form.place(plan)}.tsv"}


def job_of(form):
    """Return the param function with the JSON of a job."""
    return lambda wildcards, input, output: form.job(
        plan,
        dict(wildcards.items()),
        *map(by_name, (input, output)),
    )


def by_name(files):
    """Return the files of a job by their names in its rule."""
    return {name: list(map(str, files[name])) for name in files.keys()}


WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf")


def memory_of(rule):
    """Return the resource function for a job's memory in MB: six times its largest model; each retry adds as much.

    A training holds weights, gradients, two moments of the optimizer, and a checkpoint; a sweep a second model and states.
    """
    processes = rule.gpus(plan) if rule.gpus else 1

    def megabytes(wildcards, input, attempt):
        models = (path for path in map(str, input) if path.endswith(WEIGHTS) and os.path.isfile(path))
        largest = max(map(os.path.getsize, models), default=0) / 1e6
        return round(attempt * processes * (rule.megabytes + 6 * largest))

    return megabytes


def decisions_of(form):
    """Return the param function for what decides the results of a job: Snakemake compares only params without files."""
    return lambda wildcards: form.decided_by(plan, dict(wildcards.items()))


def mirror_of(form):
    """Return the param function for the mirror, if there is one, of a job that downloads.

    Files are identified by checksums: another mirror reruns nothing, because Snakemake does not compare params that
    depend on `resources`.
    """
    calls = [call for own in form.calls.values() for call in own]
    downloads = study.mirror and any(stage.downloads(plan, plan.task_of(values)) for stage, values in calls)
    return lambda wildcards, resources: f"--mirror {shlex.quote(study.mirror)}" if downloads else ""


def exclusive_threads(wildcards):
    """Return the threads of a job that measures time: all cores, or one on a cluster, whose profile reserves the node."""
    return WHOLE_MACHINE if workflow.local_exec else 1


def gpus_of(rule):
    """Return the GPUs of a job: for a rule that loads a model or trains, on a machine with CUDA."""
    uses = rule.gpus or (lambda plan: int(any(stage.loads_model for stage in rule.stages) or rule.exclusive))
    return uses(plan) if study.device == "cuda" else 0


def environment_of(form, pattern):
    """Return the environment of a rule, or the function of wildcards to that of a job, its name filled in a pattern."""
    chosen = form.rule.environment
    if isinstance(chosen, str):
        return pattern.format(chosen)
    return lambda wildcards: pattern.format(chosen(plan, plan.task_of(form.of(dict(wildcards.items()))[0][1])))


FORMS = forms_of(plan, [*PREPARATION, *EXPERIMENTS, *DECISIONS])


for form in FORMS:

    rule:
        name:
            form.name
        input:
            unpack(inputs_of(form)),
        output:
            **outputs_of(form),
        log:
            f"{LOGS}/{form.place(plan)}.log",
        wildcard_constraints:
            **{name: any_of(values) for name, values in form.wildcards(plan).items()},
        priority: form.rule.priority
        conda:
            environment_of(form, "../../envs/{}.yaml")
        threads: exclusive_threads if form.rule.exclusive else 1
        resources:
            mem_mb=memory_of(form.rule),
            runtime=form.rule.minutes,
            gpu=gpus_of(form.rule),
        params:
            job=job_of(form),
            decided_by=decisions_of(form),
            mirror=mirror_of(form),
            libraries=environment_of(form, "{}"),
        shell:
            "python -m headroom --libraries {params.libraries} --benchmark {output.benchmark:q} "
            "{params.job:q} {params.mirror} > {log} 2>&1"
