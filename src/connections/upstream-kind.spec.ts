import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { InMemoryTransport } from '@modelcontextprotocol/client';
import type { Type } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { CREATABLE_TYPES } from './connection.js';
import { type UpstreamConnector, UpstreamKind, UpstreamKinds } from './upstream-kind.js';

class InProcess implements UpstreamConnector {
  openTransport(): InMemoryTransport {
    return InMemoryTransport.createLinkedPair()[0];
  }
}

@UpstreamKind('PANTRY')
class Pantry extends InProcess {}

@UpstreamKind('PANTRY')
class Cellar extends InProcess {}

@UpstreamKind('VIRTUAL')
class Agent extends InProcess {}

@UpstreamKind('The Pantry')
class Misnamed extends InProcess {}

async function kindsOf(...providers: Type[]): Promise<UpstreamKinds> {
  const module = await Test.createTestingModule({
    imports: [DiscoveryModule],
    providers: [UpstreamKinds, ...providers],
  }).compile();
  return (await module.init()).get(UpstreamKinds);
}

describe('UpstreamKinds', () => {
  it('has the kinds of the application only', async () => {
    expect((await kindsOf()).creatableTypes()).toEqual(['HTTP', 'STDIO']);
    const kinds = await kindsOf(Pantry);
    expect(kinds.creatableTypes()).toEqual(['HTTP', 'STDIO', 'PANTRY']);
    expect(kinds.findByType('PANTRY')).toBeInstanceOf(Pantry);
    expect(CREATABLE_TYPES).toContain('PANTRY');
  });

  it.each([
    [[Pantry, Cellar], 'Two upstream kinds are named PANTRY; one of them is Cellar.'],
    [[Agent], 'Two upstream kinds are named VIRTUAL; one of them is Agent.'],
    [[Misnamed], 'The upstream kind of Misnamed has the invalid name "The Pantry".'],
  ])('refuses %p', async (providers, message) => {
    await expect(kindsOf(...providers)).rejects.toThrow(message);
    expect(CREATABLE_TYPES).not.toContain('VIRTUAL');
  });
});
