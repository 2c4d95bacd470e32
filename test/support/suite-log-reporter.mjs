import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const FAILURE_LINES = 12;
const LINE_LENGTH = 300;

/**
 * Adds lines of JSON to the file that `SUITE_LOG` names, so that what has begun and what has ended is known even if the
 * run does not end: `began`, the path of a suite; its `path`, its `seconds`, the numbers of `passed` and `pending`
 * tests and its `failures` as texts when it ends; and `isComplete` when all have ended.
 */
export default class SuiteLogReporter {
  onTestFileStart({ path }) {
    log({ began: relative('.', path) });
  }

  onTestFileResult(_test, { testFilePath, perfStats, testResults, testExecError }) {
    const path = relative('.', testFilePath);
    const count = (status) => testResults.filter((test) => test.status === status).length;
    const failures = testResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => `${path} ${fullName}\n${failureMessages.map(shorten).join('\n')}`);
    // A suite that could not run counts as one failure.
    if (testExecError && failures.length === 0) {
      failures.push(`${path}\n${shorten(testExecError.stack ?? testExecError.message)}`);
    }
    const seconds = Math.round(perfStats.runtime / 1000);
    log({ path, seconds, passed: count('passed'), pending: count('pending'), failures });
  }

  onRunComplete() {
    log({ isComplete: true });
  }
}

function log(line) {
  appendFileSync(process.env.SUITE_LOG, `${JSON.stringify(line)}\n`);
}

function shorten(message) {
  const lines = stripVTControlCharacters(message).split('\n').slice(0, FAILURE_LINES);
  return lines.map((line) => (line.length > LINE_LENGTH ? `${line.slice(0, LINE_LENGTH)} …` : line)).join('\n');
}
