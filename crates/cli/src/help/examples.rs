//! Two examples of every command, for `--help` and the manual pages. A test reads each of them as the command line does.

/// A command with the words that lead to it, and its examples: what it does, and how it is typed.
pub(super) const EXAMPLES: &[(&str, [(&str, &str); 2])] = &[
    (
        "",
        [
            ("Judge a program on tests in files", "tauto judge --tests tests solution.cpp"),
            ("Check this machine before a contest", "tauto doctor"),
        ],
    ),
    (
        "run",
        [
            (
                "Run a command with 1 s of CPU time and 256 MiB",
                "tauto run --cpu-time 1 --memory 256M -- ./a.out",
            ),
            ("Show where the elapsed time of a run went", "tauto run --slot auto --explain -- python3 a.py"),
        ],
    ),
    (
        "judge",
        [
            ("Judge a file against a package", "tauto judge snowwall solution.py"),
            (
                "Judge it on tests in files, without a package",
                "tauto judge --tests tests --cpu-time 2 solution.cpp",
            ),
        ],
    ),
    (
        "verify",
        [
            (
                "Verify every package of a contest, two submissions at a time",
                "tauto verify --jobs 2 contest/*",
            ),
            ("Verify again whenever a file of the package changes", "tauto verify --watch snowwall"),
        ],
    ),
    (
        "limits",
        [
            ("Measure the time limit that each package's rule gives on this host", "tauto limits contest/*"),
            (
                "Measure with all CPUs busy too, and write a page with a chart",
                "tauto limits --load --html limits.html snowwall",
            ),
        ],
    ),
    (
        "new",
        [
            (
                "Create a package that compares the output with the answer",
                "tauto new two-sums --type pass-fail",
            ),
            (
                "Create an interactive package with a Python solution",
                "tauto new guess --type interactive --language python3",
            ),
        ],
    ),
    (
        "convert",
        [
            ("Convert a Polygon package", "tauto convert 'pairs-7$linux.zip' pairs"),
            ("Convert a CMS task", "tauto convert cms/sums sums"),
        ],
    ),
    (
        "languages",
        [
            ("List languages and tools", "tauto languages"),
            ("Check a language table of your own", "tauto languages --languages site.toml"),
        ],
    ),
    (
        "bench",
        [
            ("Measure a command 30 times", "tauto bench -n 30 -- ./sieve 500000"),
            (
                "Compare two commands and write a page with charts",
                "tauto bench --html times.html './old 7' './new 7'",
            ),
        ],
    ),
    (
        "audit",
        [
            ("Check this host", "tauto audit"),
            ("Check another host from its recording", "tauto audit --root judge7.txt"),
        ],
    ),
    (
        "slots",
        [
            ("Show the slots of this host", "tauto slots"),
            ("Measure the noise floor of each slot", "tauto slots --measure"),
        ],
    ),
    (
        "clocks",
        [("List the clocks that work here", "tauto clocks"), ("Print them as JSON", "tauto clocks --json")],
    ),
    (
        "tune",
        [
            ("List the changes that reduce timing noise on this host", "tauto tune plan"),
            ("Restore every previous value", "sudo tauto tune undo"),
        ],
    ),
    (
        "tune plan",
        [
            ("List the changes with current and planned values", "tauto tune plan"),
            ("Include kernel parameters for the next boot", "tauto tune plan --boot"),
        ],
    ),
    (
        "tune apply",
        [
            ("Apply all changes", "sudo tauto tune apply"),
            (
                "Apply two of them, without measuring",
                "sudo tauto tune apply --only governor,turbo --no-measure",
            ),
        ],
    ),
    (
        "tune status",
        [
            ("Show which changes are in force", "tauto tune status"),
            ("Print them as JSON", "tauto tune status --json"),
        ],
    ),
    (
        "tune undo",
        [
            ("Restore every previous value", "sudo tauto tune undo"),
            ("Restore the previous governor only", "sudo tauto tune undo --only governor"),
        ],
    ),
    (
        "numa",
        [
            ("Show the NUMA nodes", "tauto numa topology"),
            ("Diagnose remote memory access of a program", "tauto numa trace -- ./simulate"),
        ],
    ),
    (
        "numa topology",
        [
            ("Show nodes, CPUs, memory and distances", "tauto numa topology"),
            ("Draw them as SVG", "tauto numa topology --svg nodes.svg"),
        ],
    ),
    (
        "numa trace",
        [
            ("Run a program and diagnose its memory access", "tauto numa trace -- ./simulate"),
            ("Watch a running process for 30 s", "tauto numa trace --pid 4711 --seconds 30"),
        ],
    ),
    (
        "numa decode",
        [
            ("Show what an offcore mask counts", "tauto numa decode 0x20ff --cpu nehalem"),
            ("Print it as JSON", "tauto numa decode 0x20ff --cpu nehalem --json"),
        ],
    ),
    (
        "numa encode",
        [
            (
                "Encode the mask for reads from remote memory",
                "tauto numa encode --request DEMAND_DATA_RD --response REMOTE_DRAM --cpu nehalem",
            ),
            (
                "Encode a mask for this processor",
                "tauto numa encode --request ANY_REQUEST --response REMOTE_DRAM",
            ),
        ],
    ),
    (
        "lab",
        [
            ("Measure how much each isolation step helps on this host", "tauto lab ladder -- ./sieve 500000"),
            (
                "Measure how the size of the environment affects a program's time",
                "tauto lab layout --quick -- ./sieve 500000",
            ),
        ],
    ),
    (
        "lab consistency",
        [
            (
                "Check the consistency of this machine quickly",
                "tauto lab consistency --quick --html here.html",
            ),
            (
                "Compare the times of another judge with this machine's",
                "tauto lab consistency --csv other.csv --compare here.json --html both.html",
            ),
        ],
    ),
    (
        "lab ladder",
        [
            ("Measure a program at every stage, idle and under load", "tauto lab ladder -- ./sieve 500000"),
            (
                "Restart from scratch with 40 runs per stage, and write a page",
                "tauto lab ladder --fresh -n 40 --html ladder.html -- ./sieve 500000",
            ),
        ],
    ),
    (
        "lab perturb",
        [
            (
                "Measure how much eight kinds of disturbance slow a program",
                "tauto lab perturb -- ./sieve 500000",
            ),
            (
                "Measure one of them with 60 pairs",
                "tauto lab perturb --only cache_load -n 60 -- ./sieve 500000",
            ),
        ],
    ),
    (
        "lab layout",
        [
            ("Sample environment sizes coarsely", "tauto lab layout --quick -- ./sieve 500000"),
            ("Move the start of the stack instead", "tauto lab layout --vary stack -- ./sieve 500000"),
        ],
    ),
    (
        "lab link-order",
        [
            ("Link the sources of a directory in 16 orders", "tauto lab link-order src"),
            (
                "Link objects with your own command",
                "tauto lab link-order --link 'gcc -o {out} {objects} -lm' a.o b.o",
            ),
        ],
    ),
    (
        "load",
        [
            ("Keep all CPUs busy for 60 s", "tauto load --seconds 60"),
            ("Fill the last-level cache from CPUs 2 and 3", "tauto load --kind cache --cpus 2,3"),
        ],
    ),
    (
        "index",
        [
            ("Measure this machine", "tauto index --json --name judge7"),
            ("Find outlier machines", "tauto index --compare judge1.json judge2.json judge3.json"),
        ],
    ),
    (
        "serve",
        [
            ("Serve this machine only, without accounts", "tauto serve"),
            (
                "Serve a network, judging on slots 0 and 1",
                "sudo tauto serve --listen 0.0.0.0:8080 --slots 0,1",
            ),
        ],
    ),
    (
        "doctor",
        [("Check this installation", "tauto doctor"), ("Print the checks as JSON", "tauto doctor --json")],
    ),
    (
        "config",
        [
            ("Show every key, its value and where it comes from", "tauto config show"),
            ("Check a file before installing it", "tauto config check tautochrone.toml"),
        ],
    ),
    (
        "config show",
        [
            ("Show every key, its value and where it comes from", "tauto config show"),
            ("Print them as JSON", "tauto config show --json"),
        ],
    ),
    (
        "config check",
        [
            ("Check the site's configuration", "tauto config check"),
            ("Check a file before installing it", "tauto config check tautochrone.toml"),
        ],
    ),
    (
        "worker",
        [
            (
                "Judge for the service of this machine",
                "sudo tauto worker --connect /run/tautochrone/work.sock",
            ),
            ("Judge for a fleet", "sudo tauto worker --nats tls://broker1,tls://broker2 --pool metal"),
        ],
    ),
    (
        "shadow",
        [
            (
                "Judge a contest in parallel with its own system until it ends",
                "sudo tauto shadow --url https://judge.example.org/api/contests/finals --packages problems --html page.html",
            ),
            (
                "Compare the verdicts so far, with a table of problems",
                "sudo tauto shadow --url https://judge.example.org/api --contest finals --packages map.toml --once",
            ),
        ],
    ),
    (
        "export",
        [
            (
                "Write a contest's event feed",
                "sudo tauto export contest-api --contest finals --output event-feed.ndjson",
            ),
            (
                "Print it in version 2023-06",
                "sudo tauto export contest-api --contest finals --version 2023-06",
            ),
        ],
    ),
    (
        "export contest-api",
        [
            (
                "Write a contest's event feed with its teams, for a resolver",
                "sudo tauto export contest-api --contest finals --teams teams.json --output event-feed.ndjson",
            ),
            (
                "Print it in version 2023-06",
                "sudo tauto export contest-api --contest finals --version 2023-06",
            ),
        ],
    ),
    (
        "judgehost",
        [
            (
                "Judge for a DOMjudge server",
                "sudo tauto judgehost --url https://judge.example.org/api/v4 --password-file secret",
            ),
            (
                "Judge the queued submissions, then exit",
                "sudo tauto judgehost --secret-file restapi.secret --once",
            ),
        ],
    ),
    (
        "database",
        [
            ("Back up the database while the service runs", "tauto database backup judge.db"),
            ("Check its integrity", "tauto database check"),
        ],
    ),
    (
        "database backup",
        [
            ("Back up to a file", "tauto database backup judge.db"),
            (
                "Back up another database to standard output",
                "tauto database backup --database postgres://db/judge -",
            ),
        ],
    ),
    (
        "database check",
        [
            ("Check the service's database", "tauto database check"),
            ("Check a backup", "tauto database check --database judge.db"),
        ],
    ),
    (
        "database forget",
        [
            (
                "Delete sources, runs and outputs older than 400 days",
                "tauto database forget --older-than 400",
            ),
            ("Report the number deleted as JSON", "tauto database forget --older-than 400 --json"),
        ],
    ),
    (
        "pool",
        [
            ("List pools", "tauto pool list"),
            ("Create a pool of equal machines", "tauto pool add metal --kind strict"),
        ],
    ),
    ("pool list", [("List pools", "tauto pool list"), ("Print them as JSON", "tauto pool list --json")]),
    (
        "pool show",
        [
            ("Show a pool and its nodes", "tauto pool show metal"),
            ("Print its requirements as a file", "tauto pool show metal --as-file"),
        ],
    ),
    (
        "pool add",
        [
            ("Create a pool of equal machines", "tauto pool add metal --kind strict"),
            (
                "Let its idle nodes help with relaxed work after 60 s",
                "tauto pool add metal --kind strict --helps-after 60",
            ),
        ],
    ),
    (
        "pool set",
        [
            ("Replace the requirements of a pool", "tauto pool set metal --file metal.toml"),
            ("Use another database", "tauto pool set metal --file metal.toml --database postgres://db/judge"),
        ],
    ),
    (
        "pool accept",
        [
            ("Accept a second kernel in a pool", "tauto pool accept metal --feature kernel --value 6.12.50"),
            ("Accept a new version of tauto", "tauto pool accept metal --feature version --value 1.1.0"),
        ],
    ),
    (
        "pool remove",
        [
            ("Remove a pool that nothing uses", "tauto pool remove metal"),
            ("Use another database", "tauto pool remove metal --database postgres://db/judge"),
        ],
    ),
    (
        "node",
        [
            ("List nodes and their states", "tauto node list"),
            ("Give a node no new jobs", "tauto node drain judge7 --reason 'new memory'"),
        ],
    ),
    (
        "node list",
        [
            ("List nodes and their states", "tauto node list"),
            ("Print them as JSON", "tauto node list --json"),
        ],
    ),
    (
        "node show",
        [
            ("Compare a node's features with its pool's requirements", "tauto node show judge7"),
            ("Print it as JSON", "tauto node show judge7 --json"),
        ],
    ),
    (
        "node drain",
        [
            (
                "Let a node finish its jobs and give it no new ones",
                "tauto node drain judge7 --reason 'new memory'",
            ),
            (
                "Use another database",
                "tauto node drain judge7 --reason 'new fan' --database postgres://db/judge",
            ),
        ],
    ),
    (
        "node return",
        [
            ("Return a node to service", "tauto node return judge7"),
            ("Record why", "tauto node return judge7 --reason 'memory replaced'"),
        ],
    ),
    (
        "node remove",
        [
            ("Remove a node that will not return", "tauto node remove judge7"),
            ("Use another database", "tauto node remove judge7 --database postgres://db/judge"),
        ],
    ),
    (
        "node suspects",
        [
            ("List what a suspect node judged", "tauto node suspects judge7"),
            ("Rejudge it on other nodes", "tauto node suspects judge7 --rejudge"),
        ],
    ),
    (
        "contest",
        [
            ("List contests", "tauto contest list"),
            ("Judge a contest in one pool only", "tauto contest set finals --pool metal --strictness strict"),
        ],
    ),
    (
        "contest list",
        [("List contests", "tauto contest list"), ("Print them as JSON", "tauto contest list --json")],
    ),
    (
        "contest show",
        [
            ("Show pool and strictness of a contest", "tauto contest show finals"),
            ("Print them as JSON", "tauto contest show finals --json"),
        ],
    ),
    (
        "contest set",
        [
            ("Judge a contest in one pool only", "tauto contest set finals --pool metal --strictness strict"),
            (
                "Judge practice anywhere, at most 20 jobs at a time",
                "tauto contest set practice --pool cloud --strictness relaxed --at-once 20",
            ),
        ],
    ),
    (
        "contest remove",
        [
            ("Remove a contest", "tauto contest remove finals"),
            ("Use another database", "tauto contest remove finals --database postgres://db/judge"),
        ],
    ),
    (
        "manual",
        [
            ("Write the manual pages", "tauto manual docs/man"),
            ("Install them", "sudo tauto manual /usr/local/share/man/man1"),
        ],
    ),
    (
        "completions",
        [
            ("Install completions for bash", "tauto completions bash >/etc/bash_completion.d/tauto"),
            ("Install them for fish", "tauto completions fish >~/.config/fish/completions/tauto.fish"),
        ],
    ),
];
