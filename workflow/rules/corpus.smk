# The parallel text, in one form whatever it comes from.
if study.corpus.source == "generated":

    rule generate:
        input:
            code=sources("headroom.generate"),
        output:
            TEXTS,
            [f"{RESULTS}/corpus/{name}.conllu" for name in SETS],
            f"{RESULTS}/corpus/corpus.json",
        log:
            f"{LOGS}/generate.log",
        benchmark:
            f"{BENCHMARKS}/generate.tsv"
        conda:
            "../../envs/plain.yaml"
        threads: 1
        resources:
            mem_mb=2000,
            runtime=15,
        params:
            directory=subpath(output[0], parent=True),
            settings=flags(study.corpus, leave_out=["source"]),
        shell:
            "python -m headroom.generate --output {params.directory} {params.settings} > {log} 2>&1"

elif study.corpus.source == "catalogue":

    rule download:
        input:
            code=sources("headroom.download", "headroom/data/catalogue.yaml"),
        output:
            TEXTS,
            f"{RESULTS}/corpus/corpus.json",
        log:
            f"{LOGS}/download.log",
        benchmark:
            f"{BENCHMARKS}/download.tsv"
        conda:
            "../../envs/plain.yaml"
        threads: 1
        resources:
            mem_mb=2000,
            runtime=60,
        params:
            directory=subpath(output[0], parent=True),
            settings=flags(study.corpus, leave_out=["source"]),
        # where the bytes come from does not matter, their checksums do: the mirror is no param
        shell:
            "python -m headroom.download --output {params.directory} {params.settings} "
            + (f"--mirror {shlex.quote(study.mirror)} " if study.mirror else "")
            + "> {log} 2>&1"

else:

    rule collect:
        input:
            code=sources("headroom.collect"),
            train=[study.corpus.train.source, study.corpus.train.target],
            valid=[study.corpus.valid.source, study.corpus.valid.target],
            test=[study.corpus.test.source, study.corpus.test.target],
            far=[path for pair in study.corpus.far.values() for path in (pair.source, pair.target)],
        output:
            TEXTS,
            f"{RESULTS}/corpus/corpus.json",
        log:
            f"{LOGS}/collect.log",
        benchmark:
            f"{BENCHMARKS}/collect.tsv"
        conda:
            "../../envs/plain.yaml"
        threads: 1
        resources:
            mem_mb=4000,
            runtime=30,
        params:
            directory=subpath(output[0], parent=True),
            languages=[study.corpus.source_language, study.corpus.target_language],
            far=" ".join(
                f"--far {name} {shlex.quote(pair.source)} {shlex.quote(pair.target)}"
                for name, pair in study.corpus.far.items()
            ),
        shell:
            "python -m headroom.collect --output {params.directory} --train {input.train:q} --valid {input.valid:q} "
            "--test {input.test:q} {params.far} --source-language {params.languages[0]:q} "
            "--target-language {params.languages[1]:q} > {log} 2>&1"
