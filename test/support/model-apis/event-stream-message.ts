import { crc32 } from 'node:zlib';

/** The type of a header whose value is a string. */
const STRING = 7;

/**
 * A message of the binary framing that AWS streams answers in: the lengths with their CRC, headers, the payload, and
 * the CRC of all. Source: https://smithy.io/2.0/aws/amazon-eventstream.html
 */
export function eventStreamMessage(headers: Readonly<Record<string, string>>, payload: object): Buffer {
  const encodedHeaders = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const [key, text] = [Buffer.from(name), Buffer.from(value)];
      const length = Buffer.alloc(2);
      length.writeUInt16BE(text.length);
      return Buffer.concat([Buffer.from([key.length]), key, Buffer.from([STRING]), length, text]);
    }),
  );
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(12 + encodedHeaders.length + body.length + 4, 0);
  prelude.writeUInt32BE(encodedHeaders.length, 4);
  const message = Buffer.concat([prelude, checksum(prelude), encodedHeaders, body]);
  return Buffer.concat([message, checksum(message)]);
}

function checksum(bytes: Buffer): Buffer {
  const crc = Buffer.alloc(4);
  crc.writeUInt32BE(crc32(bytes));
  return crc;
}
