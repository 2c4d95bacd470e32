-- Forgets the windows of limits that are cleared or whose subject is deleted: what is spent without a limit is not
-- counted in them. A limit that is set later begins with what the runs of the window have cost. It also forgets the
-- windows from before: a model call that has found the limit just before it is cleared makes its window afterwards. The
-- argument is the scope.
CREATE OR REPLACE FUNCTION spend_limit_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  _old jsonb := to_jsonb(OLD);
  _new jsonb;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    _new := to_jsonb(NEW);
  END IF;
  IF TG_ARGV[0] = 'organization' THEN
    _old := jsonb_build_object('organization_id', OLD.id) || coalesce(_old->'limits', '{}');
    _new := _new->'limits';
  END IF;
  -- In the order of `spend_take`.
  PERFORM FROM spend_windows WHERE scope = TG_ARGV[0] AND subject_id = OLD.id
    ORDER BY scope, subject_id, period, starts_at FOR UPDATE;
  DELETE FROM spend_windows
    WHERE scope = TG_ARGV[0] AND subject_id = OLD.id AND organization_id = (_old->>'organization_id')::uuid
      AND NOT coalesce(_old->'spend' ? ('usd_per_' || period) AND _new->'spend' ? ('usd_per_' || period), false);
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER organizations_spend AFTER UPDATE OF limits ON organizations FOR EACH ROW
  WHEN (OLD.limits ? 'spend' OR NEW.limits ? 'spend')
  EXECUTE FUNCTION spend_limit_changed('organization');
CREATE OR REPLACE TRIGGER agents_spend AFTER UPDATE OF spend OR DELETE ON agents FOR EACH ROW
  WHEN (OLD.spend IS NOT NULL)
  EXECUTE FUNCTION spend_limit_changed('agent');
CREATE OR REPLACE TRIGGER agents_spend_set AFTER UPDATE OF spend ON agents FOR EACH ROW
  WHEN (OLD.spend IS NULL AND NEW.spend IS NOT NULL)
  EXECUTE FUNCTION spend_limit_changed('agent');
CREATE OR REPLACE TRIGGER api_keys_spend AFTER UPDATE OF spend OR DELETE ON api_keys FOR EACH ROW
  WHEN (OLD.spend IS NOT NULL)
  EXECUTE FUNCTION spend_limit_changed('key');
CREATE OR REPLACE TRIGGER api_keys_spend_set AFTER UPDATE OF spend ON api_keys FOR EACH ROW
  WHEN (OLD.spend IS NULL AND NEW.spend IS NOT NULL)
  EXECUTE FUNCTION spend_limit_changed('key');
CREATE OR REPLACE TRIGGER members_spend AFTER UPDATE OF spend OR DELETE ON members FOR EACH ROW
  WHEN (OLD.spend IS NOT NULL)
  EXECUTE FUNCTION spend_limit_changed('person');
CREATE OR REPLACE TRIGGER members_spend_set AFTER UPDATE OF spend ON members FOR EACH ROW
  WHEN (OLD.spend IS NULL AND NEW.spend IS NOT NULL)
  EXECUTE FUNCTION spend_limit_changed('person');
