"""Send mails with Message-ID, Date and boundaries of Python; the server says the Message-ID back."""
import smtplib
from email.message import EmailMessage
from email.utils import formatdate, make_msgid

from lab_common import INDEX, PORT, done, same

with smtplib.SMTP("localhost", PORT, local_hostname="lab", timeout=10) as client:
    client.ehlo()
    for number in range(2):
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = "a@example.com", "b@example.com", f"mail {number} of {INDEX}"
        mail["Message-ID"], mail["Date"] = make_msgid(domain="example.com"), formatdate()
        mail.set_content("The text of the mail.\n")
        mail.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="table.csv")
        same(client.mail("a@example.com", [f"size={len(bytes(mail))}"])[0], 250, "MAIL")
        same(client.rcpt("b@example.com")[0], 250, "RCPT")
        code, said = client.data(bytes(mail))
        same((code, said.decode()), (250, f"OK mail {number} of {INDEX} as {mail['Message-ID']}"), "DATA")
done()
