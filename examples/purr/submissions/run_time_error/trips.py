# Crashes in the middle of the conversation.
n = int(input())
print("?", 1, flush=True)
reply = {"louder": 1, "softer": 2}[input()]
print("!", reply)
