// Calls every tool of `playout-bridge mcp --http PORT` with the official client, and prints the
// texts of the answers, also of errors, as JSON.
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const {
  StreamableHTTPClientTransport,
} = require("@modelcontextprotocol/sdk/client/streamableHttp.js");

const GIVEN = {
  new_match: { game: "nim", bot: "random", seat: 1, clock: "none" },
  play: { move: "1" },
  offer: { kind: "draw" },
  answer_offer: { accept: false },
  rules: { game: "nim" },
  puzzles: { game: "tic_tac_toe" },
  competition: { competition: "cup" },
  hand_in: { competition: "cup", files: { "bot.txt": "x" }, wait_s: 60 },
  submissions: { competition: "cup" },
  analyse: { match: "a1", ply: 0 },
  submit_candidate: { versions: { base: { "bot.py": "x" } } },
  test_status: { test: 1 },
  stop_test: { test: 1 },
  losses: { test: 1 },
  read_log: { test: 1 },
};

async function main([port, token]) {
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { Authorization: `Bearer ${token}` } };
  const address = new URL(`http://127.0.0.1:${port}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(address, { requestInit }));
  const called = {};
  for (const { name } of (await client.listTools()).tools) {
    const answer = await client.callTool({ name, arguments: GIVEN[name] ?? {} });
    called[name] = answer.content.map((each) => each.text).join("\n");
  }
  await client.readResource({ uri: "playout://protocol" });
  await client.getPrompt({ name: "write_a_bot", arguments: { game: "nim" } });
  console.log(JSON.stringify(called));
  process.exit(0);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
