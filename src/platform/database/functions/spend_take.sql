-- Reserves an amount in all windows that apply to a run, or in none: `_refusal` then names the limit that is reached
-- longest, and in how many seconds there can be room. Without a limit, there are no windows. Windows are always locked
-- in the same order, so that two calls do not wait for each other. What is only reserved can be free soon.
CREATE OR REPLACE FUNCTION spend_take(
  _organization uuid, _agent uuid, _api_key uuid, _user uuid, _amount numeric,
  OUT _windows bigint[], OUT _refusal jsonb
) LANGUAGE plpgsql AS $$
DECLARE
  _limit record;
  _window spend_windows;
  _wait integer;
BEGIN
  _windows := '{}';
  FOR _limit IN
    SELECT * FROM spend_limits_of(_organization, _agent, _api_key, _user) ORDER BY scope, subject_id, period
  LOOP
    _window := spend_window(_organization, _limit.scope, _limit.subject_id, _limit.period);
    _windows := _windows || _window.id;
    IF _window.used + _window.reserved + _amount > _limit.usd THEN
      _wait := CASE WHEN _window.used + _amount > _limit.usd
        THEN ceil(extract(epoch FROM spend_window_end(_window.period, _window.starts_at) - now())) ELSE 5 END;
      IF _refusal IS NULL OR _wait > (_refusal->>'retryAfterS')::integer THEN
        _refusal := jsonb_build_object('scope', _limit.scope, 'period', _limit.period, 'retryAfterS', _wait);
      END IF;
      IF NOT _window.is_reached THEN
        UPDATE spend_windows SET is_reached = true WHERE id = _window.id;
        PERFORM webhook_spend_threshold(_window, _limit.usd, true);
      END IF;
    END IF;
  END LOOP;
  IF _refusal IS NULL THEN
    UPDATE spend_windows SET reserved = reserved + _amount WHERE id = ANY (_windows);
  END IF;
END
$$;
