# Splitting, transforming and joining strings.
def main():
    x = 99
    words = []
    for i in range(220000):
        x = (x * 22695477 + 1) & 0xFFFFFFFF
        words.append(hex(x >> (4 + x % 7 * 2))[2:])
    total = 0
    text = " ".join(words)
    for step in range(6):
        parts = text.split(" ")
        parts = [w[::-1] if len(w) % 2 else w.upper().replace("A", "q").lower() for w in parts]
        total += sum(w.count("7") + w.startswith("1") for w in parts)
        text = " ".join(parts[1:] + parts[:1])
    print(len(text), total, text[:12], text.find("beef"))


main()
