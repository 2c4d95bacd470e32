import { expect } from '@jest/globals';
import type { Response } from 'supertest';

/** What `expectProblem` hands back for closer looks. */
export interface Problem {
  detail: string;
  errors?: { path: string; code: string; message: string }[];
}

/** Checks that the response is a complete problem document (RFC 9457) with this status and code. */
export function expectProblem(response: Response, status: number, code: string): Problem {
  expect({ status: response.status, code: response.body.code }).toEqual({ status, code });
  expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8');
  const { errors = [], ...problem } = response.body as Problem & Record<string, unknown>;
  expect(problem).toEqual({
    type: `urn:signalbox:error:${code}`,
    title: expect.stringMatching(/^[A-Z]/),
    status,
    detail: expect.stringMatching(/[.?]$|\)$/),
    code,
    request_id: response.headers['x-request-id'],
  });
  for (const fault of errors) {
    expect(fault).toEqual({ path: expect.any(String), code: expect.any(String), message: expect.any(String) });
  }
  return response.body as Problem;
}
