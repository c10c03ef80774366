//! JSON Schemas of types that write themselves.

/// Gives a type the schema of the type as which it is written.
#[macro_export]
macro_rules! schema_as {
    ($type:ty, $written:ty) => {
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <$written as schemars::JsonSchema>::json_schema(generator)
            }
        }
    };
}
