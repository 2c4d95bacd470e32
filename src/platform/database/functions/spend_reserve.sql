-- Reserves what a model call of an attempt can cost at most; an `_amount` of NULL is a model without a price. Answers
-- `reserved`, `unlimited` without a limit, `stale` if it is another attempt's turn, or the code of the refusal. A run
-- makes one call at a time: a reservation that it still has is that of a dead attempt, which counts as spent, or that of
-- its post, which this call uses. The call can be repeated. The lock of the run comes before those of the windows.
-- A reservation can be in windows that have ended since, or from before a limit was set. Its windows and those of this
-- call are locked together in the order of `spend_take`: settling the one and then taking the other would lock the
-- window of a day after that of a month.
CREATE OR REPLACE FUNCTION spend_reserve(
  _run uuid, _attempt integer, _epoch text, _call uuid, _amount numeric, OUT _outcome text, OUT _refusal jsonb
) LANGUAGE plpgsql AS $$
DECLARE
  _of record;
  _window record;
  _windows bigint[];
BEGIN
  SELECT organization_id, agent_id, api_key_id, user_id, reservation INTO _of FROM runs
    WHERE id = _run AND attempt = _attempt AND epoch = _epoch AND status = 'running' FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    _outcome := 'stale';
    RETURN;
  ELSIF _of.reservation->>'call' = _call::text THEN
    _outcome := 'reserved';
    RETURN;
  ELSIF _of.reservation IS NOT NULL THEN
    FOR _window IN
      SELECT id, scope, subject_id, period, starts_at FROM spend_windows
        WHERE id IN (SELECT jsonb_array_elements_text(_of.reservation->'windows')::bigint)
      UNION ALL
      SELECT NULL, scope, subject_id, period, spend_window_start(period)
        FROM spend_limits_of(_of.organization_id, _of.agent_id, _of.api_key_id, _of.user_id)
      ORDER BY scope, subject_id, period, starts_at
    LOOP
      IF _window.id IS NULL THEN
        PERFORM spend_window(_of.organization_id, _window.scope, _window.subject_id, _window.period);
      ELSE
        PERFORM FROM spend_windows WHERE id = _window.id FOR UPDATE;
      END IF;
    END LOOP;
    PERFORM spend_settle(_of.reservation, NULL);
    UPDATE runs SET reservation = NULL WHERE id = _run;
  END IF;
  IF _amount IS NULL THEN
    _outcome := CASE WHEN EXISTS (
        SELECT FROM spend_limits_of(_of.organization_id, _of.agent_id, _of.api_key_id, _of.user_id)
      ) THEN 'price_missing' ELSE 'unlimited' END;
    RETURN;
  END IF;
  SELECT taken._windows, taken._refusal INTO _windows, _refusal
    FROM spend_take(_of.organization_id, _of.agent_id, _of.api_key_id, _of.user_id, _amount) AS taken;
  IF _refusal IS NOT NULL THEN
    _outcome := 'spend_limit_reached';
  ELSIF _windows = '{}' THEN
    _outcome := 'unlimited';
  ELSE
    _outcome := 'reserved';
    UPDATE runs SET reservation = jsonb_build_object('call', _call, 'amount', _amount, 'windows', _windows)
      WHERE id = _run;
  END IF;
END
$$;
