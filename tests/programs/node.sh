#!/usr/bin/env bash
# node.sh - worker threads that parse, sort, compress and hash, and hand buffers over: same answers.
source "$(dirname "$0")/common.sh"
need node
node -e 'require("worker_threads")' >/dev/null 2>&1 || skip "node here is not Node.js, or has no worker threads"

cat >work.js <<'JS'
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const zlib = require('zlib'), crypto = require('crypto');

if (!isMainThread) {
    let state = workerData, digest = crypto.createHash('sha256');
    const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0);
    for (let round = 0; round < 6; round++) {
        const list = Array.from({ length: 4000 }, (_, i) => ({
            i, key: next().toString(36), text: 'x'.repeat(next() % 90) }));
        const json = JSON.stringify(list.sort((a, b) => (a.key < b.key ? -1 : 1)));
        const packed = zlib.deflateSync(Buffer.from(json), { level: 1 + round });
        if (zlib.inflateSync(packed).toString() !== json) throw new Error('inflate');
        digest.update(json.replace(/x+/g, (m) => m.length)).update(Buffer.alloc(1 << (10 + 2 * round), round));
    }
    const answer = new Uint8Array(digest.digest()).buffer;
    parentPort.postMessage(answer, [answer]);
} else {
    const run = (seed) => new Promise((done, fail) => {
        new Worker(__filename, { workerData: seed }).on('message', done).on('error', fail);
    });
    (async () => {
        for (let wave = 0; wave < 4; wave++) {
            const answers = await Promise.all([1, 2, 3, 4].map((n) => run(wave * 10 + n)));
            for (const answer of answers) console.log(Buffer.from(answer).toString('hex'));
        }
    })();
}
JS
system node work.js >system.txt
jw node work.js >jw.txt
[ "$(wc -l <jw.txt)" -eq 16 ]
same system.txt jw.txt
tail -n 1 jw.txt
