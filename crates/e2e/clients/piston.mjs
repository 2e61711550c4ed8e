// Drives the service at argv[3] with piston-client, which lies at argv[2], as its README does.
import assert from "node:assert";

const [where, server] = process.argv.slice(2);
const { default: piston } = await import(where);
const client = piston({ server });
const runtimes = await client.runtimes();
assert(runtimes.some((runtime) => runtime.language === "python" && runtime.aliases.includes("py")), JSON.stringify(runtimes));
const hello = await client.execute("python", 'print("Hello World!")');
assert.deepEqual(
  [hello.language, hello.run?.stdout, hello.run?.stderr, hello.run?.code, hello.run?.signal, hello.run?.output],
  ["python", "Hello World!\n", "", 0, null, "Hello World!\n"],
  JSON.stringify(hello),
);
const chosen = await client.execute({
  language: "python",
  version: "*",
  files: [{ name: "my_cool_code.py", content: "import sys\nprint(sys.argv[1:], input())" }],
  stdin: "typed",
  args: ["1", "2", "3"],
  compileTimeout: 10000,
  runTimeout: 3000,
  compileMemoryLimit: -1,
  runMemoryLimit: -1,
});
assert.equal(chosen.run?.stdout, "['1', '2', '3'] typed\n", JSON.stringify(chosen));
