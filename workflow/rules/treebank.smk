# Dependency trees in the language that a task's encoder reads, in one form whatever they come from. They come first:
# a relation that they lack is told before anything is trained.
for name, task in trees_from("generated"):
    if name == "translation":

        rule:
            name:
                "treebank_translation"
            input:
                code=sources("headroom.stages.collect_treebank"),
                treebank=f"{RESULTS}/translation/corpus/check.conllu",
            output:
                f"{RESULTS}/translation/treebank.conllu",
            log:
                f"{LOGS}/translation/treebank.log",
            benchmark:
                f"{BENCHMARKS}/translation/treebank.tsv"
            priority: 100
            conda:
                "../../envs/plain.yaml"
            threads: 1
            resources:
                mem_mb=memory(2000),
                runtime=15,
            params:
                relations=" ".join(task.attention_stats.relations),
            shell:
                "python -m headroom collect_treebank --input {input.treebank} --relations {params.relations} "
                "--output {output} > {log} 2>&1"

    else:

        rule:
            name:
                f"treebank_{name.replace('-', '_')}"
            input:
                code=sources("headroom.stages.generate_trees"),
            output:
                f"{RESULTS}/{name}/treebank.conllu",
            log:
                f"{LOGS}/{name}/treebank.log",
            benchmark:
                f"{BENCHMARKS}/{name}/treebank.tsv"
            priority: 100
            conda:
                "../../envs/plain.yaml"
            threads: 1
            resources:
                mem_mb=memory(2000),
                runtime=15,
            params:
                seed=task.corpus.seed,
                relations=" ".join(task.attention_stats.relations),
                settings=flags(task.treebank, leave_out=["source"]),
            shell:
                "python -m headroom generate_trees --seed {params.seed} {params.settings} "
                "--relations {params.relations} --output {output} > {log} 2>&1"


for name, task in trees_from("catalogue"):

    rule:
        name:
            f"treebank_{name.replace('-', '_')}"
        input:
            code=sources("headroom.stages.download_treebank", data=["headroom/data/treebank_catalogue.yaml"]),
        output:
            f"{RESULTS}/{name}/treebank.conllu",
        log:
            f"{LOGS}/{name}/treebank.log",
        benchmark:
            f"{BENCHMARKS}/{name}/treebank.tsv"
        priority: 100
        conda:
            "../../envs/plain.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=30,
        params:
            relations=" ".join(task.attention_stats.relations),
            settings=flags(task.treebank, leave_out=["source"]),
            mirror=mirror_flag,
        shell:
            "python -m headroom download_treebank --output {output} {params.settings} --relations {params.relations} "
            "{params.mirror} > {log} 2>&1"


for name, task in trees_from("files"):

    rule:
        name:
            f"treebank_{name.replace('-', '_')}"
        input:
            code=sources("headroom.stages.collect_treebank"),
            treebank=task.treebank.path,
        output:
            f"{RESULTS}/{name}/treebank.conllu",
        log:
            f"{LOGS}/{name}/treebank.log",
        benchmark:
            f"{BENCHMARKS}/{name}/treebank.tsv"
        priority: 100
        conda:
            "../../envs/plain.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=15,
        params:
            relations=" ".join(task.attention_stats.relations),
        shell:
            "python -m headroom collect_treebank --input {input.treebank:q} --relations {params.relations} "
            "--output {output} > {log} 2>&1"
