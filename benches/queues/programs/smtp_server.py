"""Serve SMTP on PORT, with STARTTLS if CERT names a certificate; say each Message-ID back."""
import asyncio
import email
import os
import ssl

from aiosmtpd.smtp import SMTP


class Handler:
    async def handle_DATA(self, _server, _session, envelope):
        mail = email.message_from_bytes(envelope.content)
        return f"250 OK {mail['Subject']} as {mail['Message-ID']}"


async def main():
    context = None
    if os.environ.get("CERT"):
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(os.environ["CERT"])

    def factory():
        return SMTP(Handler(), hostname="mail.example.com", tls_context=context, enable_SMTPUTF8=True)

    server = await asyncio.get_running_loop().create_server(factory, "127.0.0.1", int(os.environ["PORT"]))
    await server.serve_forever()


asyncio.run(main())
