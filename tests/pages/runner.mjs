// The tests of a file, one after the other. Node's own runner follows every promise of the pages, which takes most of the time.
const all = [];

export const test = (name, act) => {
  all.push({ name, act });
};

process.exitCode = 1; // until all have ended: a test that waits for ever ends the process
process.once("beforeExit", async () => {
  // the modules of all tests are loaded
  let failures = 0;
  for (const { name, act } of all) {
    try {
      await act();
    } catch (error) {
      failures += 1;
      console.log(`not ok: ${name}\n${error?.stack ?? error}\n`);
    }
  }
  console.log(`${all.length} tests, ${failures} failed`);
  process.exitCode = failures ? 1 : 0;
});
