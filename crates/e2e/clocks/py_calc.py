# Calculator: tokens by regular expression, shunting yard to postfix, evaluation with a stack.
import re

TOKEN = re.compile(r"\s*(?:(\d+)|([a-z]\w*)|(.))")
RANK = {"+": 1, "-": 1, "*": 2, "%": 2}
APPLY = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "%": lambda a, b: a % (b + 1)}


def postfix(text):
    out, ops = [], []
    for m in TOKEN.finditer(text):
        number, name, op = m.groups()
        if number:
            out.append(int(number))
        elif name:
            out.append(name)
        elif op == "(":
            ops.append(op)
        elif op == ")":
            while ops[-1] != "(":
                out.append(ops.pop())
            ops.pop()
        else:
            while ops and ops[-1] != "(" and RANK[ops[-1]] >= RANK[op]:
                out.append(ops.pop())
            ops.append(op)
    return out + ops[::-1]


def value(code, names):
    stack = []
    for t in code:
        if isinstance(t, int):
            stack.append(t)
        elif t in RANK:
            b, a = stack.pop(), stack.pop()
            stack.append(APPLY[t](a, b) % 1000003)
        else:
            stack.append(names[t])
    return stack[0]


def main():
    x, names, h = 13, {}, 0
    for line in range(7000):
        parts = []
        for k in range(12):
            x = (x * 22695477 + 1) & 0xFFFFFFFF
            r = x >> 8
            atom = f"v{r % line}" if line and r % 3 == 0 else str(r % 5000)
            if r % 11 == 0:
                atom = f"({atom} + {r % 77} * 3)"
            parts += [atom, " ", "+-*%"[(r >> 10) % 4], " "]
        text = "".join(parts[:-3])
        names[f"v{line}"] = v = value(postfix(text), names)
        h = (h * 31 + v) % 1000000007
    print(h, names["v7"], len(names))


main()
