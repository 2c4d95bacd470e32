import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Injectable, type Type } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { HealthCheck } from '../../core/health-check.js';
import { HealthService } from './health.service.js';

@Injectable()
class Pantry {
  @HealthCheck('pantry')
  check(): void {}
}

@Injectable()
class Cellar {
  @HealthCheck('pantry')
  check(): void {}
}

@Injectable()
class Misnamed {
  @HealthCheck('The Pantry')
  check(): void {}
}

/** Fails in each of the ways in which a check can. */
@Injectable()
class Failing {
  @HealthCheck('throws')
  throws(): void {
    throw new Error('broken');
  }

  @HealthCheck('rejects')
  async rejects(): Promise<void> {
    throw new Error('broken');
  }

  @HealthCheck('hangs', { timeoutMs: 20 })
  hangs(): Promise<void> {
    return new Promise(() => undefined);
  }
}

async function serviceOf(...providers: Type[]): Promise<HealthService> {
  const module = await Test.createTestingModule({
    imports: [DiscoveryModule],
    providers: [HealthService, ...providers],
  }).compile();
  await module.init();
  return module.get(HealthService);
}

describe('HealthService', () => {
  it('names each check that fails, next to those that pass', async () => {
    const service = await serviceOf(Pantry, Failing);
    expect(await service.probe()).toEqual({
      status: 'unavailable',
      checks: { hangs: 'unavailable', pantry: 'ok', rejects: 'unavailable', throws: 'unavailable' },
    });
  });

  it('refuses two checks with one name', async () => {
    await expect(serviceOf(Pantry, Cellar)).rejects.toThrow(
      'Two health checks are named pantry; one of them is Cellar.check.',
    );
  });

  it('refuses names that are no identifier', async () => {
    await expect(serviceOf(Misnamed)).rejects.toThrow(
      'The health check of Misnamed.check has the invalid name "The Pantry".',
    );
  });
});
