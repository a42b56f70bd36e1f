# The labelled text of every classification task, in one form whatever it comes from (the Hub: hub.smk).
for name, task in labelled_from("generated"):

    rule:
        name:
            f"label_{name.replace('-', '_')}"
        input:
            code=sources("headroom.stages.generate_pairs"),
        output:
            texts(name, *SPLITS, *task.corpus.far_names),
        log:
            f"{LOGS}/{name}/label.log",
        benchmark:
            f"{BENCHMARKS}/{name}/label.tsv"
        conda:
            "../../envs/plain.yaml"
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=60,
        params:
            directory=subpath(output[0], parent=True),
            settings=flags(task.corpus, leave_out=["source"]),
        shell:
            "python -m headroom generate_pairs --output {params.directory} {params.settings} > {log} 2>&1"


for name, task in labelled_from("catalogue"):

    rule:
        name:
            f"label_{name.replace('-', '_')}"
        input:
            code=sources("headroom.stages.download_labelled", data=["headroom/data/labelled_catalogue.yaml"]),
        output:
            texts(name, *SPLITS, *task.corpus.far_names),
        log:
            f"{LOGS}/{name}/label.log",
        benchmark:
            f"{BENCHMARKS}/{name}/label.tsv"
        conda:
            "../../envs/plain.yaml"
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=60,
        params:
            directory=subpath(output[0], parent=True),
            settings=flags(task.corpus, leave_out=["source"]),
            mirror=mirror_flag,
        shell:
            "python -m headroom download_labelled --output {params.directory} {params.settings} "
            "{params.mirror} > {log} 2>&1"


for name, task in labelled_from("files"):

    rule:
        name:
            f"label_{name.replace('-', '_')}"
        input:
            files=list(task.corpus.paths.values()),
            code=sources("headroom.stages.collect_labelled"),
        output:
            texts(name, *SPLITS, *task.corpus.far_names),
        log:
            f"{LOGS}/{name}/label.log",
        benchmark:
            f"{BENCHMARKS}/{name}/label.tsv"
        conda:
            "../../envs/plain.yaml"
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=60,
        params:
            directory=subpath(output[0], parent=True),
            settings=flags(task.corpus, leave_out=["source", "far"]) + far_flags(task.corpus),
        shell:
            "python -m headroom collect_labelled --output {params.directory} {params.settings} > {log} 2>&1"
