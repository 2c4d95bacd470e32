import { describe, expect, it } from '@jest/globals';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { newWebhookSecret, webhookHeaders } from './webhook-sender.js';

const MESSAGE = { id: '0199a1b2-0000-7000-8000-000000000000', body: '{"type":"run.completed","text":"ünïcode"}' };

describe('webhookHeaders', () => {
  it('signs the example of the specification', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}', secrets: [secret] };
    expect(webhookHeaders(message, 1_614_265_330_000)).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('is accepted by the official library with either secret, and with no other', () => {
    const [current, previous, other] = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()];
    const headers = webhookHeaders({ ...MESSAGE, secrets: [current, previous] }, Date.now());
    for (const secret of [current, previous]) {
      expect(new Webhook(secret).verify(MESSAGE.body, headers)).toEqual(JSON.parse(MESSAGE.body));
    }
    expect(() => new Webhook(other).verify(MESSAGE.body, headers)).toThrow(WebhookVerificationError);
    expect(() => new Webhook(current).verify(`${MESSAGE.body} `, headers)).toThrow(WebhookVerificationError);
  });
});

describe('newWebhookSecret', () => {
  it('is 32 bytes, each time others', () => {
    const secrets = [newWebhookSecret(), newWebhookSecret()];
    for (const secret of secrets) {
      expect(secret).toMatch(/^whsec_/);
      expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).toHaveLength(32);
    }
    expect(secrets[0]).not.toBe(secrets[1]);
  });
});
