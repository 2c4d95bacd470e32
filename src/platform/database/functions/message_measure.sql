-- A large message is stored out of line and compressed: measuring a thousand of them when they are listed would unpack
-- them all.
CREATE OR REPLACE FUNCTION message_measure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.bytes := octet_length(NEW.parts::text) + octet_length(NEW.metadata::text);
  RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER messages_measure BEFORE INSERT OR UPDATE OF parts, metadata ON messages FOR EACH ROW
  EXECUTE FUNCTION message_measure();
