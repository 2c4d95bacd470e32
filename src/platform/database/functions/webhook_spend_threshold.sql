-- Tells the webhooks of an organization, in the transaction of the caller, that a spending limit is used by 80 %, or
-- that it has refused a model call. A webhook for some agents is only told of the limits of those.
CREATE OR REPLACE FUNCTION webhook_spend_threshold(_window spend_windows, _usd numeric, _reached boolean) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  PERFORM webhook_deliver(
    'spend.threshold', _window.organization_id, CASE WHEN _window.scope = 'agent' THEN _window.subject_id END, NULL,
    json_build_object(
      'scope', _window.scope,
      'id', _window.subject_id,
      'period', _window.period,
      'starts_at', webhook_time(_window.starts_at),
      'limit_usd', trim_scale(_usd),
      'used_usd', trim_scale(_window.used),
      'reserved_usd', trim_scale(_window.reserved),
      'reached', _reached));
END
$$;
