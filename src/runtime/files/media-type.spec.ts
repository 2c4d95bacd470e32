import { describe, expect, it } from '@jest/globals';
import { isShown, isText, mediaTypeOf } from './media-type.js';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const ZIP = Buffer.from('504b03040a0000000000', 'hex');
const WAV = Buffer.concat([Buffer.from('RIFF\x24\0\0\0WAVEfmt \x10\0\0\0'), Buffer.alloc(20)]);
const OGG = Buffer.concat([Buffer.from('OggS\0\x02'), Buffer.alloc(22), Buffer.from('OpusHead'), Buffer.alloc(20)]);
const WORD = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';

describe('mediaTypeOf', () => {
  it.each([
    [PNG, 'image/png', 'image/png'],
    [PNG, 'IMAGE/PNG; charset=binary', 'image/png'],
    [PNG, 'image/x-png', 'image/png'],
    [PNG, '', 'image/png'],
    [OGG, '', 'audio/ogg'],
    [ZIP, WORD, WORD],
    [OGG, 'video/ogg', 'video/ogg'],
    [Buffer.from('<?xml version="1.0"?><svg/>'), 'image/svg+xml', 'image/svg+xml'],
    [Buffer.from('plain'), 'text/plain', 'text/plain'],
    // Texts that begin as bitmaps, programs and music do.
    [Buffer.from('BMI;weight\n22;70\n'), 'text/csv', 'text/csv'],
    [Buffer.from('BMI;weight\n22;70\n'), '', 'text/plain'],
    [Buffer.from('MZ is my name'), 'text/markdown', 'text/markdown'],
    [Buffer.from('ID3 tags explained'), '', 'text/plain'],
    [Buffer.from('<?xml version="1.0"?><svg/>'), '', 'application/xml'],
    [Buffer.from('%PDF-1.7\n'), '', 'application/pdf'],
    [Buffer.from('export const n = 1;'), 'video/mp2t', 'text/plain'],
    [WAV, 'audio/x-wav', 'audio/wav'],
    [WAV, 'audio/vnd.wave', 'audio/wav'],
    [Buffer.from('plain\r\n\t\u001b[1mbold'), '', 'text/plain'],
    // Cut in a character.
    [Buffer.from('grün').subarray(0, 3), 'application/octet-stream', 'text/plain'],
    [Buffer.from('\0plain'), '', 'application/octet-stream'],
    [Buffer.from([0x80, 0x81]), '', 'application/octet-stream'],
  ])('takes %o, declared as %j, for %s', async (head, declared, type) => {
    expect(await mediaTypeOf(head, declared)).toBe(type);
  });

  it.each([
    [PNG, 'image/jpeg'],
    [PNG, 'text/html'],
    [ZIP, 'image/png'],
    [Buffer.from('plain'), 'application/pdf'],
  ])('refuses %o as %s', async (head, declared) => {
    await expect(mediaTypeOf(head, declared)).rejects.toMatchObject({ code: 'file_type_mismatch' });
  });

  it.each(['text', 'text/', '/html', 'te xt/html', 'text/html\r\nx: y'])('refuses the type %j', async (declared) => {
    await expect(mediaTypeOf(Buffer.from('plain'), declared)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});

it('shows nothing that a browser executes', () => {
  const types = ['image/svg+xml', 'text/html', 'application/xhtml+xml', 'text/xml', 'text/javascript', 'text/plain'];
  expect(types.map(isShown)).toEqual(types.map(() => false));
  expect(['image/png', 'audio/mpeg', 'video/mp4', 'application/pdf'].map(isShown)).toEqual([true, true, true, true]);
});

it('takes for text what people write', () => {
  const types = ['text/csv', 'application/json', 'application/ld+json', 'image/png', 'application/pdf'];
  expect(types.map(isText)).toEqual([true, true, true, false, false]);
});
