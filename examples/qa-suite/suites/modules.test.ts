import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type CanActivate, type DynamicModule, HttpException } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { createTestApp } from 'signalbox/testing';
import supertest from 'supertest';

/** The module under test. It rejects every request while the office is closed. */
class OfficeHoursModule {
  static isOpen = true;

  static forRoot(): DynamicModule {
    const guard: CanActivate = {
      canActivate: () => {
        if (!OfficeHoursModule.isOpen) throw new HttpException('The office is closed.', 423);
        return true;
      },
    };
    return { module: OfficeHoursModule, providers: [{ provide: APP_GUARD, useValue: guard }] };
  }
}

const app = await createTestApp({ modules: [OfficeHoursModule.forRoot()], env: { STREAM_KEEP_ALIVE_MS: '500' } });
after(() => app.close());

test('a module of our own guards every route', async () => {
  const list = (): supertest.Test =>
    supertest(app.url).get(`/api/${app.org}/tools`).set('authorization', `Bearer ${app.apiKey}`);
  await list().expect(200);
  OfficeHoursModule.isOpen = false;
  const { body } = await list().expect(423);
  assert.equal(body.detail, 'The office is closed.');
});
