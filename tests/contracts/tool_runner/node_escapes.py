"""What a hostile tool in TypeScript tries, as `escapes` has it for Python: Node brings threads, its own programs and its own
sockets.
"""

from __future__ import annotations

from textwrap import indent

from hibernaut.adapters.tool_runner.cage.walls import Wall
from tests.contracts.tool_runner.escapes import Attempt

ATTEMPTS = (
    Attempt("reads the server's environment", Wall.PROCESSES, "return fs.readFileSync(`/proc/${server}/environ`)"),
    Attempt("reads the environment of any other process", Wall.PROCESSES, "return foreign('environ')"),
    Attempt("opens the server's memory", Wall.PROCESSES, "return fs.openSync(`/proc/${server}/mem`)"),
    Attempt("signals the server", Wall.PROCESSES, "return process.kill(server, 0)"),
    Attempt("signals the server's group", Wall.PROCESSES, "return process.kill(-server_group, 0)"),
    Attempt("traces the server", Wall.PROCESSES, "process._debugProcess(server); return true"),
    Attempt("opens the data folder's file", Wall.FILES, "return fs.readFileSync(secret)"),
    Attempt("opens it through a symbolic link", Wall.FILES, "fs.symlinkSync(secret, 'link'); return fs.readFileSync('link')"),
    Attempt("opens it through a process's root", Wall.FILES, "return fs.readFileSync(`/proc/1/root${secret}`)"),
    Attempt("opens it by another program", Wall.FILES, "return cp.execFileSync('/bin/cat', [secret], {stdio: 'pipe'})"),
    Attempt("requires it", Wall.FILES, "return require(secret)"),
    Attempt("imports it", Wall.FILES, "return await import(secret)"),
    Attempt("opens it in a thread", Wall.FILES, "return await threaded('fs', 'readFileSync', [secret])"),
    Attempt("lists the data folder", Wall.FILES, "return fs.readdirSync(path.dirname(secret)).length"),
    Attempt("lists a folder of the machine", Wall.FILES, "return fs.readdirSync(host).filter((name) => name !== 'work').length"),
    Attempt("reads the passwords", Wall.FILES, "return fs.readFileSync('/etc/shadow')"),
    Attempt("writes into the machine", Wall.FILES, "return fs.openSync(`${host}/left`, 'w')"),
    Attempt("changes Node", Wall.FILES, "return fs.openSync(process.execPath, 'a')"),
    Attempt("changes the program that runs it", Wall.FILES, "return fs.openSync(process.argv[1], 'a')"),
    Attempt("opens a package of another tool", Wall.FILES, "return fs.readFileSync(`${others}/other_package.py`)"),
    Attempt("requires a package of another tool", Wall.FILES, "return require(`${others}/other_package.cjs`)"),
    Attempt(
        "changes a package of its own", Wall.FILES, "return opened(own, (place) => fs.openSync(`${place}/own_package.py`, 'a'))"
    ),
    Attempt(
        "adds a package for the next call", Wall.FILES, "return opened(own, (place) => fs.openSync(`${place}/left.cjs`, 'w'))"
    ),
    Attempt("lists the sets of packages", Wall.FILES, "return fs.readdirSync(path.dirname(others)).length"),
    Attempt("calls the server without a token", Wall.CONNECTIONS, "return await dialled({host: '127.0.0.1', port})"),
    Attempt("calls the server by no address", Wall.CONNECTIONS, "return await dialled({host: '0.0.0.0', port})"),
    Attempt("calls the server by IPv6", Wall.CONNECTIONS, "return await dialled({host: '::ffff:127.0.0.1', port})"),
    Attempt("calls the server from a thread", Wall.CONNECTIONS, "return await threaded('net', 'connect', [port, '127.0.0.1'])"),
    Attempt("asks the metadata service", Wall.CONNECTIONS, "return await dialled({host: '169.254.169.254', port: 80})"),
    Attempt("connects to a Unix socket", Wall.CONNECTIONS, "return await dialled({path: socket_path})"),
    Attempt(
        "connects to an abstract Unix socket", Wall.CONNECTIONS, "return await dialled({path: abstract.replace('@', '\\0')})"
    ),
)
_HELP = """
import * as fs from "node:fs";
import * as net from "node:net";
import * as path from "node:path";
import * as cp from "node:child_process";
import { Worker } from "node:worker_threads";

function foreign(name: string) {
  for (const entry of fs.readdirSync("/proc")) {
    if (/^\\d+$/.test(entry) && ![process.pid, process.ppid].includes(Number(entry))) {
      try { return fs.readFileSync(`/proc/${entry}/${name}`); } catch { continue; }
    }
  }
}

function opened(own: string, open: (place: string) => any): any {
  for (const place of ["/packages", own]) {
    try { return open(place); } catch { continue; }
  }
}

function dialled(where: any): Promise<boolean> {
  return new Promise((resolve) => {
    const line = net.connect(where, () => resolve(true));
    line.on("error", () => resolve(false));
    line.setTimeout(5000, () => resolve(false));
  });
}

function threaded(module: string, name: string, args: any[]): Promise<any> {
  const program = `
    const { parentPort, workerData: [module, name, args] } = require("node:worker_threads");
    const made = require(module)[name](...args);
    if (!made.on) parentPort.postMessage(String(made));
    else { made.on("connect", () => parentPort.postMessage(true)); made.on("error", () => parentPort.postMessage(false)); }`;
  return new Promise((resolve) => {
    const worker = new Worker(program, { eval: true, workerData: [module, name, args] });
    worker.on("message", resolve);
    worker.on("error", () => resolve(false));
  });
}
"""


def all_attempts() -> str:
    """The source of a tool that makes every attempt, and returns what got out by its name."""
    source = [_HELP, "export async function tool(facts: any) {"]
    source += [
        "  const { server, server_group, secret, host, socket_path, abstract, port, own, others } = facts;",
        "  const out: any = {};",
    ]
    for attempt in ATTEMPTS:
        source += ["  try {", "    const found = await (async () => {", indent(attempt.body, " " * 6), "    })();"]
        source += [f"    if (found) out[{attempt.name!r}] = String(found).slice(0, 200);", "  } catch {}"]
    return "\n".join([*source, "  return out;", "}"])


HOARD = """
import { spawn } from "node:child_process";
export async function tool(count: number, megabytes: number, python: string) {
  const program = `import os, time; kept = os.urandom(1024) * 1024 * ${megabytes}; time.sleep(30)`;
  for (let n = 0; n < count; n++) spawn(python, ["-I", "-c", program], { stdio: "ignore" });
  await new Promise((resolve) => setTimeout(resolve, 30000));
  return "held three times the memory";
}
"""
FORKS = """
import { spawn } from "node:child_process";
export async function tool(count: number) {
  let made = 0;
  for (; made < count; made++) {
    const child = spawn("sleep", ["30"], { stdio: "ignore" });
    if (await new Promise((resolve) => { child.on("error", resolve); child.on("spawn", () => resolve(null)); })) return made;
  }
  await new Promise((resolve) => setTimeout(resolve, 30_000)); // a supervisor that counts from time to time has looked by then
  return made;
}
"""
DAEMON = """
import { spawn } from "node:child_process";
import * as net from "node:net";
export async function tool(port: number) {
  const line = net.connect(port, "127.0.0.1");
  await new Promise((resolve) => line.write("alive", resolve));
  const handle = (line as any)._handle.fd;
  spawn("sleep", ["30"], { detached: true, stdio: ["ignore", "ignore", "ignore", handle] }).unref();
  return "left a daemon";
}
"""
FLOOD = """
import { writeSync } from "node:fs";
export function tool(text: string, times: number) {
  for (let n = 0; n < times; n++) writeSync(Number(process.argv[2]), text);
  (process as any).reallyExit(0);
}
"""
