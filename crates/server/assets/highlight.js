// Colours for source texts: comments, strings, numbers, words of the language. No parser: what is needed to read a program with ease.

const words = (text) => new Set(text.split(" "));
const c = "auto bool break case catch char class const constexpr continue default delete do double else enum explicit extern false float for friend goto if inline int long namespace new noexcept nullptr operator private protected public register return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while";
const slashes = { line: ["//"], block: [["/*", "*/"]], quotes: ['"', "'"] };
const hash = { line: ["#"], block: [], quotes: ['"', "'"] };

const styles = {
  c: { ...slashes, pre: true, words: words(c) },
  java: { ...slashes, words: words("abstract assert boolean break byte case catch char class const continue default do double else enum extends false final finally float for if implements import instanceof int interface long native new null package private protected public record return short static super switch synchronized this throw throws true try var void volatile while yield") },
  kotlin: { ...slashes, words: words("abstract as break by class companion const constructor continue data do else enum false final finally for fun get if import in init inline interface internal is lateinit null object open operator out override package private protected public return sealed set super suspend this throw true try typealias val var vararg when where while") },
  csharp: { ...slashes, words: words("abstract as base bool break byte case catch char checked class const continue decimal default delegate do double else enum event explicit extern false finally fixed float for foreach goto if implicit in int interface internal is lock long namespace new null object operator out override params private protected public readonly ref return sbyte sealed short sizeof static string struct switch this throw true try typeof uint ulong unsafe ushort using var virtual void while") },
  javascript: { ...slashes, quotes: ['"', "'", "`"], words: words("async await break case catch class const continue debugger default delete do else export extends false finally for from function get if import in instanceof let new null of return set static super switch this throw true try typeof undefined var void while with yield") },
  go: { ...slashes, quotes: ['"', "'", "`"], words: words("break case chan const continue default defer else fallthrough false for func go goto if import interface map nil package range return select struct switch true type var bool byte error float32 float64 int int32 int64 rune string uint uint64 len make append") },
  rust: { ...slashes, quotes: ['"'], words: words("as async await bool break char const continue crate dyn else enum extern f32 f64 false fn for i32 i64 if impl in let loop match mod move mut pub ref return self Self static str struct super trait true type u32 u64 u8 unsafe use usize where while") },
  python: { ...hash, quotes: ['"""', "'''", '"', "'"], words: words("and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass print raise return True try while with yield range len int str input") },
  ruby: { ...hash, words: words("alias and begin break case class def defined? do else elsif end ensure false for gets if in module next nil not or puts redo rescue retry return self super then true undef unless until when while yield") },
  perl: { ...hash, words: words("and chomp cmp continue do each else elsif eq for foreach ge goto gt if keys last le local lt my ne next no not or our package print printf push redo return shift split sub unless until use while x") },
  php: { ...slashes, line: ["//", "#"], words: words("abstract and array as break case catch class const continue declare default do echo else elseif empty extends false final finally fn for foreach function global if implements include instanceof interface isset list match namespace new null or private protected public readonly require return static switch this throw trait true try unset use var while yield") },
  bash: { ...hash, words: words("case do done echo elif else esac exit export fi for function if in local read return set shift then until while") },
  lua: { line: ["--"], block: [["--[[", "]]"]], quotes: ['"', "'"], words: words("and break do else elseif end false for function goto if in local nil not or repeat return then true until while") },
  haskell: { line: ["--"], block: [["{-", "-}"]], quotes: ['"'], words: words("case class data default deriving do else forall foreign if import in infix infixl infixr instance let module newtype of otherwise qualified then type where") },
  ocaml: { line: [], block: [["(*", "*)"]], quotes: ['"'], words: words("and as assert begin class constraint do done downto else end exception external false for fun function functor if in include inherit initializer lazy let match method module mutable new object of open or private rec sig struct then to true try type val virtual when while with") },
  pascal: { line: ["//"], block: [["{", "}"], ["(*", "*)"]], quotes: ["'"], fold: true, words: words("and array asm begin boolean case char const constructor destructor div do downto else end exit false file for function goto if implementation in inline int64 integer interface label longint mod nil not object of operator or packed procedure program read readln real record repeat set shl shr string then to true type unit until uses var while with write writeln xor") },
  prolog: { line: ["%"], block: [["/*", "*/"]], quotes: ['"', "'"], words: words("is mod rem true fail halt initialization main dynamic module use_module") },
};

/** The style of each language id. */
export const kinds = {
  c: "c", cpp: "c", cpp17: "c", cpp23: "c", java: "java", kotlin: "kotlin", csharp: "csharp", javascript: "javascript", go: "go", rust: "rust",
  python2: "python", python3: "python", cpython3: "python", ruby: "ruby", perl: "perl", php: "php", bash: "bash", lua: "lua",
  haskell: "haskell", ocaml: "ocaml", pascal: "pascal", prolog: "prolog",
};

const number = /^(0[xXbBoO][\da-fA-F_]+|\d[\d_]*(\.\d+)?([eE][+-]?\d+)?)[a-zA-Z]*/;
const word = /^[\p{L}_$][\p{L}\p{N}_$?]*/u;

/** Pairs of a class (empty: none) and a text, which together are the source. */
export function classify(source, kind) {
  const style = styles[kind] ?? styles.c;
  const parts = [];
  let plain = "";
  const put = (name, text) => {
    if (!name) { plain += text; return; }
    if (plain) parts.push(["", plain]);
    plain = "";
    parts.push([name, text]);
  };
  let at = 0;
  while (at < source.length) {
    const rest = source.slice(at, at + 400);
    const block = style.block.find(([open]) => rest.startsWith(open));
    const quote = style.quotes.find((quote) => rest.startsWith(quote));
    let text;
    if (block) {
      const end = source.indexOf(block[1], at + block[0].length);
      text = source.slice(at, end < 0 ? source.length : end + block[1].length);
      put("c", text);
    } else if (style.line.some((open) => rest.startsWith(open)) && !(style === styles.bash && at > 0 && /\S/.test(source[at - 1]))) {
      text = upto(source, at, "\n");
      put("c", text);
    } else if (style.pre && rest[0] === "#" && /^\s*$/.test(source.slice(source.lastIndexOf("\n", at - 1) + 1, at))) {
      text = upto(source, at, "\n");
      put("p", text);
    } else if (quote) {
      text = string(source, at, quote);
      put("s", text);
    } else if (/\d/.test(rest[0])) {
      text = rest.match(number)?.[0] ?? rest[0];
      put("n", text);
    } else {
      text = rest.match(word)?.[0] ?? rest[0];
      put(style.words.has(style.fold ? text.toLowerCase() : text) ? "k" : "", text);
    }
    at += text.length;
  }
  if (plain) parts.push(["", plain]);
  return parts;
}

function upto(source, at, end) {
  const found = source.indexOf(end, at);
  return source.slice(at, found < 0 ? source.length : found);
}

/** A string with its quotes; it ends with its line where it may not span several. */
function string(source, at, quote) {
  const long = quote.length > 1 || quote === "`";
  for (let n = at + quote.length; n < source.length; n += 1) {
    if (source[n] === "\\") n += 1;
    else if (source.startsWith(quote, n)) return source.slice(at, n + quote.length);
    else if (source[n] === "\n" && !long) return source.slice(at, n);
  }
  return source.slice(at);
}

const signs = [
  ["php", /^<\?php/], ["java", /\bpublic\s+static\s+void\s+main\b|^import java\./m], ["csharp", /^using System\b/m], ["cpp", /#include\s*<(iostream|bits\/stdc\+\+\.h|vector|string|algorithm)>|\bstd::|using namespace std/],
  ["c", /#include\s*<std(io|lib)\.h>/], ["rust", /\bfn main\(\)/], ["go", /^package main\b/m], ["kotlin", /\bfun main\(/], ["haskell", /^main\s*(::\s*IO|=)/m],
  ["javascript", /\brequire\(|\bconst \w+\s*=|\bconsole\.log\(/], ["python3", /^(def |import |from \w+ import )|\bprint\(|\binput\(\)/m], ["pascal", /\bbegin\b[\s\S]*\bend\./i],
  ["ruby", /\bgets\b|\bputs\b/], ["perl", /\bmy [$@%]/], ["lua", /\blocal \w+ =|io\.read/], ["ocaml", /^let \w+ .*=|Scanf\.scanf/m], ["bash", /^#!.*\b(ba)?sh\b/],
];

/** The language a text looks like. */
export function guess(text) {
  return signs.find(([, sign]) => sign.test(text))?.[0];
}

// Sources that are shown.
for (const shown of document.querySelectorAll("code[data-language]")) {
  const kind = kinds[shown.dataset.language];
  if (!kind || shown.textContent.length > 300_000) continue;
  shown.replaceChildren(...classify(shown.textContent, kind).map(([name, text]) => {
    if (!name) return document.createTextNode(text);
    const span = document.createElement("span");
    span.className = `t-${name}`;
    span.textContent = text;
    return span;
  }));
}
