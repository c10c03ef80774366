//! Connections of which only what is read matters.

/// Makes what is written to a type go to its field `stream` as it is.
macro_rules! write_through {
    ($connection:ty) => {
        impl ::tokio::io::AsyncWrite for $connection {
            fn poll_write(
                mut self: ::std::pin::Pin<&mut Self>,
                context: &mut ::std::task::Context<'_>,
                bytes: &[u8],
            ) -> ::std::task::Poll<::std::io::Result<usize>> {
                ::std::pin::Pin::new(&mut self.stream).poll_write(context, bytes)
            }

            fn poll_flush(
                mut self: ::std::pin::Pin<&mut Self>,
                context: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                ::std::pin::Pin::new(&mut self.stream).poll_flush(context)
            }

            fn poll_shutdown(
                mut self: ::std::pin::Pin<&mut Self>,
                context: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                ::std::pin::Pin::new(&mut self.stream).poll_shutdown(context)
            }
        }
    };
}
